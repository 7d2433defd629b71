import numpy as np
import statsmodels.api as sm
from statsmodels.distributions.empirical_distribution import ECDF
from statsmodels.stats import inter_rater, moment_helpers, power
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW


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
    rng = np.random.default_rng(3)
    times, seen = rng.exponential(10, 30).round(1), rng.integers(0, 2, 30)
    x = rng.normal(size=60)
    answers.append(attempt(lambda: sm.SurvfuncRight(times, seen).surv_prob))
    answers.append(attempt(lambda: sm.SurvfuncRight(times, seen).quantile(0.4)))
    answers.append(attempt(lambda: sm.duration.survdiff(times, seen, np.arange(30) % 2)))
    answers.append(attempt(lambda: sm.PHReg(times, np.arange(30) % 2, status=seen).fit().params.round(5)))
    answers.append(attempt(lambda: ECDF(x)([-1, 0, 1])))
    answers.append(attempt(lambda: sm.nonparametric.KDEUnivariate(x).fit().evaluate(0.5)))
    answers.append(attempt(lambda: sm.nonparametric.KernelReg(x[1:], x[:-1], "c", bw=[0.5]).fit([0.0])[0].round(6)))
    answers.append(attempt(lambda: inter_rater.fleiss_kappa(np.array([[3, 0], [1, 2], [2, 1]]))))
    answers.append(attempt(lambda: inter_rater.cohens_kappa(np.array([[10, 2], [3, 15]])).kappa))
    answers.append(attempt(lambda: CompareMeans(DescrStatsW(x[:30]), DescrStatsW(x[30:])).ttest_ind()))
    answers.append(attempt(lambda: DescrStatsW(x, weights=np.arange(60)).std))
    answers.append(attempt(lambda: power.FTestAnovaPower().solve_power(0.25, alpha=0.05, power=0.8, k_groups=3)))
    answers.append(attempt(lambda: moment_helpers.cov2corr(np.cov(x[:30], x[30:]))))
    answers.append(attempt(lambda: sm.robust.mad(x)))
    answers.append(attempt(lambda: sm.robust.norms.HuberT().rho(np.array([0.5, 3.0]))))
    answers.append(attempt(lambda: sm.stats.runstest_1samp(x) if hasattr(sm.stats, "runstest_1samp") else None))
    return answers
