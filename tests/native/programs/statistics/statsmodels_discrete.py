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
    answers.append(attempt(lambda: smf.logit("b ~ x", df).fit(disp=0).params.round(6).tolist()))
    answers.append(attempt(lambda: smf.logit("b ~ x + C(z)", df).fit(disp=0).prsquared))
    answers.append(attempt(lambda: smf.probit("b ~ x", df).fit(disp=0).params.round(6).tolist()))
    answers.append(attempt(lambda: smf.poisson("c ~ x", df).fit(disp=0).params.round(6).tolist()))
    answers.append(attempt(lambda: smf.negativebinomial("c ~ x", df).fit(disp=0, maxiter=100).params.round(3).tolist()[:2]))
    answers.append(attempt(lambda: smf.mnlogit("z ~ x", df).fit(disp=0).params.round(5).values))
    answers.append(attempt(lambda: smf.logit("b ~ x", df).fit(disp=0).pred_table()))
    answers.append(attempt(lambda: smf.logit("b ~ x", df).fit(disp=0).get_margeff().margeff.round(6)))
    answers.append(attempt(lambda: smf.glm("c ~ x", df, family=sm.families.Poisson()).fit().deviance))
    answers.append(attempt(lambda: smf.glm("b ~ x", df, family=sm.families.Binomial()).fit().params.round(6).tolist()))
    answers.append(attempt(lambda: smf.glm("y ~ x", df, family=sm.families.Gaussian()).fit().scale))
    answers.append(attempt(lambda: smf.logit("b ~ missing", df)))
    return answers
