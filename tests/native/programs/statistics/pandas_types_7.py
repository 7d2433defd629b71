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
    mi = pd.DataFrame({"v":range(4)}, index=pd.MultiIndex.from_product([["a","b"],[1,2]], names=["x","y"]))
    answers.append(attempt(lambda: pd.DataFrame({"c":np.argsort([3,1])}).dtypes.astype(str)))
    s = pd.Series(np.argsort([3,1,2]))
    s.iloc[0] = 2**40
    answers.append(attempt(lambda: s))
    s2 = pd.Series(np.argsort([3,1,2]))
    s2 += 2**33
    answers.append(attempt(lambda: s2))
    s3 = pd.DataFrame({"a": np.argsort([3,1,2])})
    s3["a"] *= 10**10
    answers.append(attempt(lambda: s3))
    s4 = pd.DataFrame({"a": np.argsort([3,1,2])})
    s4.loc[1,"a"] = 2**35
    answers.append(attempt(lambda: s4))
    s5 = pd.DataFrame({"a": np.argsort([3,1,2])})
    s5.loc[len(s5)] = 2**35
    answers.append(attempt(lambda: s5))
    answers.append(attempt(lambda: pd.DataFrame({"a": np.argsort([3,1,2])}).fillna(2**40)))
    answers.append(attempt(lambda: pd.Series(np.argsort([3,1])).reindex([0,9], fill_value=2**40)))
    answers.append(attempt(lambda: pd.Series(np.argsort([3,1])).shift(1, fill_value=2**40)))
    answers.append(attempt(lambda: pd.Series(np.argsort([3,1])).replace(0, 2**40)))
    answers.append(attempt(lambda: pd.Series(np.argsort([3,1])).where([True,False], 2**40)))
    answers.append(attempt(lambda: pd.Series(np.argsort([3,1])).clip(2**40)))
    answers.append(attempt(lambda: pd.Series(np.argsort([3,1])).isin([2**32])))
    answers.append(attempt(lambda: pd.Series(np.argsort([3,1])) == 2**32))
    answers.append(attempt(lambda: pd.Series(np.argsort([3,1])).between(-2**40,2**40)))
    answers.append(attempt(lambda: pd.Series(np.argsort([3,1])).add(2**40)))
    answers.append(attempt(lambda: 2**40 - pd.Series(np.argsort([3,1]))))
    answers.append(attempt(lambda: pd.Series(np.argsort([3,1])).combine_first(pd.Series([2**40]))))
    answers.append(attempt(lambda: pd.Series(np.argsort([3,1])).apply(lambda x: x*10**10)))
    answers.append(attempt(lambda: pd.Series(np.argsort([3,1])).map(lambda x: x+2**40)))
    answers.append(attempt(lambda: pd.Series(np.argsort([3,1])).quantile(.3)))
    answers.append(attempt(lambda: pd.Series(np.argsort([3,1])).std()))
    return answers
