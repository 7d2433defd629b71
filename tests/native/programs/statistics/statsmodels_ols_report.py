import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
import re


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
    text = re.sub(r"(Date|Time): .*? {2,}", "", model.summary().as_text())
    answers.append(attempt(lambda: text.splitlines()[:4]))
    answers.append(attempt(lambda: text.splitlines()[10:20]))
    answers.append(attempt(lambda: text.splitlines()[20:]))
    answers.append(attempt(lambda: model.summary2().tables[1].round(6).to_csv()))
    answers.append(attempt(lambda: model.summary().tables[1].as_csv()))
    answers.append(attempt(lambda: smf.ols("y ~ x", df).fit().summary().tables[1].as_latex_tabular()))
    return answers
