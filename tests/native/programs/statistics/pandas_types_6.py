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
    answers.append(attempt(lambda: pd.Series([5]).pow(20)))
    answers.append(attempt(lambda: pd.Series([5])**30))
    answers.append(attempt(lambda: pd.Series([-7])//2))
    answers.append(attempt(lambda: pd.Series([-7])%3))
    answers.append(attempt(lambda: pd.Series([7])//0))
    answers.append(attempt(lambda: pd.Series([-7])//0))
    answers.append(attempt(lambda: pd.Series([7])%0))
    answers.append(attempt(lambda: pd.DataFrame([[1,2],[3,4]]).to_records(index=False)))
    answers.append(attempt(lambda: pd.DataFrame({"a":[1]}).to_records().dtype))
    answers.append(attempt(lambda: pd.DataFrame({"a":[1]}).values.dtype))
    answers.append(attempt(lambda: pd.DataFrame({"a":[1],"b":[1.5]}).values.dtype))
    answers.append(attempt(lambda: pd.DataFrame(np.zeros((2,2),dtype=int)).dtypes.astype(str)))
    answers.append(attempt(lambda: pd.DataFrame({"a":range(3)}).a.dtype))
    answers.append(attempt(lambda: pd.DataFrame(index=range(2),columns=["a"]).dtypes.astype(str)))
    answers.append(attempt(lambda: pd.DataFrame({"a":np.argsort([2,1])}).a.dtype))
    answers.append(attempt(lambda: pd.DataFrame({"a":np.argsort([2,1])}).a * 10**10))
    answers.append(attempt(lambda: pd.DataFrame({"a":np.argsort([2,1])}).a.sum()))
    answers.append(attempt(lambda: pd.DataFrame({"a":np.argsort([2,1])}).groupby("a").size()))
    answers.append(attempt(lambda: pd.Series(np.bincount([1,5]))*10**10))
    answers.append(attempt(lambda: pd.Series(np.bincount([1,5]))+2**31))
    answers.append(attempt(lambda: pd.Series(np.bincount([1,5])).astype(int)+2**31))
    answers.append(attempt(lambda: pd.Series(np.bincount([1,5])).cumsum()*2**31))
    answers.append(attempt(lambda: pd.DataFrame({"a":np.where([True,True])[0]}).describe()))
    answers.append(attempt(lambda: pd.Series(np.unique([1,1],return_counts=True)[1]).pow(40)))
    answers.append(attempt(lambda: pd.DataFrame({"c":np.unique([1,1,2],return_counts=True)[1]}).eval("c*3000000000")))
    answers.append(attempt(lambda: pd.DataFrame({"c":np.unique([1,1,2],return_counts=True)[1]}).c.to_list()))
    answers.append(attempt(lambda: pd.DataFrame({"c":np.argsort([3,1])}).to_json()))
    answers.append(attempt(lambda: pd.DataFrame({"c":np.argsort([3,1])}).merge(pd.DataFrame({"c":[0,1],"d":[5,6]}))))
    answers.append(attempt(lambda: pd.DataFrame({"c":np.argsort([3,1])}).c.map({0:10**10,1:2})))
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
