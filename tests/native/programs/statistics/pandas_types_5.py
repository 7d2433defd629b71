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
    answers.append(attempt(lambda: pd.Series([1,2,2]).is_unique))
    answers.append(attempt(lambda: pd.Series([1,4,9]).interpolate().sum()))
    answers.append(attempt(lambda: pd.Series([1,np.nan,9]).interpolate()))
    answers.append(attempt(lambda: pd.Series([1,np.nan,np.nan,9]).interpolate("polynomial",order=1)))
    answers.append(attempt(lambda: pd.Series([0,1,4]).interpolate("quadratic")))
    answers.append(attempt(lambda: pd.util.hash_pandas_object(pd.Series(["a","b"]))))
    answers.append(attempt(lambda: pd.util.hash_array(np.array([1.5,2]))))
    answers.append(attempt(lambda: pd.util.hash_pandas_object(pd.DataFrame({"a":[1],"b":["x"]}))))
    answers.append(attempt(lambda: pd.Series([1,2,3]).where(lambda x: x>1, 10**10)))
    answers.append(attempt(lambda: pd.Series([1,2,3]).mask([True,False,False])))
    answers.append(attempt(lambda: pd.Series([1,2,3]).replace(1, 2**40)))
    answers.append(attempt(lambda: pd.Series([1,2]).shift(1, fill_value=0)))
    answers.append(attempt(lambda: pd.Series([1,2]).reindex([0,5])))
    answers.append(attempt(lambda: pd.Series([1,2]).add(pd.Series([1]), fill_value=0)))
    answers.append(attempt(lambda: pd.Series({"a":1,"b":2**40})))
    answers.append(attempt(lambda: pd.Series(5, index=range(3))))
    answers.append(attempt(lambda: pd.Series([1,2]).map("{:05d}".format)))
    answers.append(attempt(lambda: pd.Series([1,2]).agg(["sum","mean"])))
    answers.append(attempt(lambda: pd.Series([1,2]).pipe(lambda s: s.sum())))
    answers.append(attempt(lambda: pd.Series([2**31-1, 1]).sum()))
    answers.append(attempt(lambda: pd.Series([2**62, 2**62]).sum()))
    answers.append(attempt(lambda: pd.Series([1,2]).repeat([2,3])))
    answers.append(attempt(lambda: pd.Series([1]).squeeze()))
    answers.append(attempt(lambda: pd.Series([10**10]).item()))
    answers.append(attempt(lambda: pd.Series([1,2,3]).to_list()))
    answers.append(attempt(lambda: pd.Series([1,2]).combine(pd.Series([3,0]), max)))
    answers.append(attempt(lambda: pd.Series([1,2]).compare(pd.Series([1,3]))))
    answers.append(attempt(lambda: pd.Series([1,2,3]).truncate(1)))
    answers.append(attempt(lambda: pd.Series([1.23456]).round(2)))
    s = pd.Series(np.argsort([3,1,2]))
    s.iloc[0] = 2**40
    s2 = pd.Series(np.argsort([3,1,2]))
    s2 += 2**33
    s3 = pd.DataFrame({"a": np.argsort([3,1,2])})
    s3["a"] *= 10**10
    s4 = pd.DataFrame({"a": np.argsort([3,1,2])})
    s4.loc[1,"a"] = 2**35
    s5 = pd.DataFrame({"a": np.argsort([3,1,2])})
    s5.loc[len(s5)] = 2**35
    return answers
