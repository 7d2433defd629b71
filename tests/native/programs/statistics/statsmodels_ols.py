import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf


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
    model = smf.ols("y ~ x + C(z)", df).fit()
    answers.append(attempt(lambda: model.params.round(9)))
    answers.append(attempt(lambda: model.rsquared))
    answers.append(attempt(lambda: model.rsquared_adj))
    answers.append(attempt(lambda: model.pvalues.tolist()))
    answers.append(attempt(lambda: model.bse.tolist()))
    answers.append(attempt(lambda: model.conf_int().values))
    answers.append(attempt(lambda: model.fvalue))
    answers.append(attempt(lambda: [model.aic, model.bic, model.llf]))
    answers.append(attempt(lambda: model.predict(df.head(3)).tolist()))
    answers.append(attempt(lambda: model.get_prediction(df.head(2)).summary_frame().values))
    answers.append(attempt(lambda: model.nobs * 10**10))
    answers.append(attempt(lambda: model.df_resid))
    answers.append(attempt(lambda: model.resid.abs().max()))
    answers.append(attempt(lambda: model.t_test("x = 2").pvalue))
    answers.append(attempt(lambda: model.f_test("x = 0").fvalue))
    answers.append(attempt(lambda: model.wald_test("x = 0", scalar=True).statistic))
    answers.append(attempt(lambda: sm.stats.anova_lm(model).values[:2]))
    answers.append(attempt(lambda: sm.stats.anova_lm(smf.ols("y ~ x", df).fit(), model)["F"].tolist()[1]))
    answers.append(attempt(lambda: model.get_robustcov_results("HC3").bse))
    return answers
