import pandas as pd, numpy as np


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
    df = pd.DataFrame({"k": rng.choice(list("abcd"), 60), "g": rng.integers(0,4,60), "v": rng.normal(size=60), "n": rng.integers(0, 3*10**9, 60), "d": pd.date_range("2023-01-01", periods=60, freq="37h"), "b": rng.random(60)>.5, "s": rng.choice(["x","y",None], 60)})
    df["cat"] = df.k.astype("category"); df.loc[::7, "v"] = np.nan
    for by in ["k", ["b", "g"]]:
        g = df.groupby(by, observed=True)
        pass
    answers.append(attempt(lambda: pd.Series([100,100], dtype="int8").cumsum()))
    return answers
