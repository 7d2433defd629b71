import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.stats import contingency_tables, power, proportion, weightstats
from statsmodels.stats.outliers_influence import OLSInfluence, variance_inflation_factor


def shown(value):
    """A value as JSON can express it, with its type."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return [str(value.dtype), shown(value.tolist())]
    if isinstance(value, dict):
        return [[shown(key), shown(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if type(value).__module__.startswith("pandas") and hasattr(value, "to_csv"):
        return value.to_csv()
    return str(value)


def attempt(action):
    try:
        return shown(action())
    except Exception as error:
        return type(error).__name__


def main(args):
    answers = []
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"x": rng.normal(size=80), "z": rng.integers(0, 3, 80)})
    df["y"] = 2 * df.x + df.z + rng.normal(size=80)
    df["b"] = (df.y > 1).astype(int)
    df["c"] = rng.poisson(3, 80)
    model = smf.ols("y ~ x", df).fit()
    answers.append(attempt(lambda: sm.stats.durbin_watson(model.resid)))
    answers.append(attempt(lambda: sm.stats.jarque_bera(model.resid)))
    answers.append(attempt(lambda: sm.stats.het_breuschpagan(model.resid, model.model.exog)))
    answers.append(attempt(lambda: sm.stats.het_white(model.resid, model.model.exog)))
    answers.append(attempt(lambda: sm.stats.acorr_ljungbox(model.resid, 3).values))
    answers.append(attempt(lambda: sm.stats.linear_rainbow(model)))
    answers.append(attempt(lambda: sm.stats.multipletests([0.01, 0.02, 0.3])))
    answers.append(attempt(lambda: sm.stats.multipletests([0.01, 0.02, 0.3], method="fdr_bh")[1]))
    answers.append(attempt(lambda: sm.stats.proportions_ztest([10, 20], [50, 60])))
    answers.append(attempt(lambda: proportion.proportion_confint(10, 50, method="wilson")))
    answers.append(attempt(lambda: str(sm.stats.pairwise_tukeyhsd(df.y, df.z).summary())))
    answers.append(attempt(lambda: power.tt_ind_solve_power(0.5, alpha=0.05, power=0.8)))
    answers.append(attempt(lambda: power.TTestPower().solve_power(effect_size=0.3, nobs=50, alpha=0.05)))
    answers.append(attempt(lambda: sm.stats.mcnemar([[10, 5], [3, 12]]).pvalue))
    answers.append(attempt(lambda: sm.stats.Table2x2([[10, 5], [3, 12]]).oddsratio))
    answers.append(attempt(lambda: contingency_tables.Table([[10, 5], [3, 12]]).test_nominal_association().statistic))
    answers.append(attempt(lambda: weightstats.DescrStatsW(df.y).tconfint_mean()))
    answers.append(attempt(lambda: weightstats.ttest_ind(df.y[:40], df.y[40:])))
    answers.append(attempt(lambda: variance_inflation_factor(sm.add_constant(df[["x", "z"]]).values, 1)))
    answers.append(attempt(lambda: OLSInfluence(model).cooks_distance[0].head(3).tolist()))
    answers.append(attempt(lambda: sm.stats.lilliefors(df.x)))
    answers.append(attempt(lambda: sm.stats.normal_ad(df.x)))
    return answers
