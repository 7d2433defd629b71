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
    answers.append(attempt(lambda: pd.Series([None,"a"]).str.upper()))
    answers.append(attempt(lambda: pd.Series(["aXb"]).str.swapcase().str.contains("x")))
    answers.append(attempt(lambda: pd.Series(["abc"]).str.match("a.c")))
    answers.append(attempt(lambda: pd.Series(["abc"]).str.fullmatch("a")))
    answers.append(attempt(lambda: pd.Series(pd.arrays.SparseArray([0,0,2**40])).sum()))
    answers.append(attempt(lambda: pd.array([1,None,3]).sum()))
    answers.append(attempt(lambda: pd.array([1,None], dtype="Int8")))
    answers.append(attempt(lambda: pd.array([True,None]).any()))
    answers.append(attempt(lambda: pd.array(["a",None],dtype="string")))
    answers.append(attempt(lambda: pd.array([1.5,None],dtype="Float64").mean()))
    answers.append(attempt(lambda: pd.array([2**31]).dtype))
    answers.append(attempt(lambda: pd.array([1,2])**40))
    answers.append(attempt(lambda: pd.array([1,2])*10**10))
    answers.append(attempt(lambda: pd.array([7])//2))
    answers.append(attempt(lambda: pd.array([7])/0))
    answers.append(attempt(lambda: pd.Series([1,2,3]).convert_dtypes().dtype))
    answers.append(attempt(lambda: pd.DataFrame({"a":["1",None]}).convert_dtypes().dtypes.astype(str)))
    answers.append(attempt(lambda: pd.Series(["a","b"]).dtype))
    answers.append(attempt(lambda: pd.Series(["a",None]).isna()))
    answers.append(attempt(lambda: pd.Series(["a","b"]).astype("category").dtype))
    answers.append(attempt(lambda: pd.Series([3,1,2]).sort_values().index))
    answers.append(attempt(lambda: pd.Series([1,1,2]).mode()))
    answers.append(attempt(lambda: pd.Series([1,2,3]).autocorr()))
    answers.append(attempt(lambda: pd.Series([1,2,3,4]).kurt()))
    answers.append(attempt(lambda: pd.Series([1,2]).sem()))
    answers.append(attempt(lambda: pd.Series([1,5,2]).idxmax()))
    answers.append(attempt(lambda: pd.Series([1,2,3,10**10]).skew()))
    answers.append(attempt(lambda: pd.Series([1,2]).product()))
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
