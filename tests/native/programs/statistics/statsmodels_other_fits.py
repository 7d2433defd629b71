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
    X = sm.add_constant(df.x)
    answers.append(attempt(lambda: smf.quantreg("y ~ x", df).fit(q=0.5).params.round(5).tolist()))
    answers.append(attempt(lambda: sm.RLM(df.y, X).fit().params.round(7).tolist()))
    answers.append(attempt(lambda: smf.mixedlm("y ~ x", df, groups=df.z).fit().params.round(3).tolist()))
    answers.append(attempt(lambda: sm.WLS(df.y, X, weights=df.z + 1).fit().params.tolist()))
    answers.append(attempt(lambda: sm.GLSAR(df.y, X).iterative_fit(2).params.tolist()))
    answers.append(attempt(lambda: sm.GLS(df.y, X, sigma=df.z + 1).fit().bse.tolist()))
    answers.append(attempt(lambda: smf.gee("y ~ x", "z", df).fit().params.round(7).tolist()))
    answers.append(attempt(lambda: sm.OLS(df.y, X).fit_regularized(alpha=0.1).params.tolist()))
    answers.append(attempt(lambda: sm.nonparametric.lowess(df.y, df.x)[:2]))
    answers.append(attempt(lambda: sm.nonparametric.KDEUnivariate(df.y).fit().bw))
    answers.append(attempt(lambda: sm.PCA(df[["x", "y", "z"]]).eigenvals.tolist() if hasattr(sm, "PCA") else None))
    answers.append(attempt(lambda: sm.MANOVA.from_formula("x + y ~ C(z)", df).mv_test().results["C(z)"]["stat"]["F Value"].astype(float).round(6).tolist()))
    return answers
