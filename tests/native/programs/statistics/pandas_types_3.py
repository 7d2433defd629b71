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
    answers.append(attempt(lambda: mi.unstack()))
    answers.append(attempt(lambda: mi.xs(1, level="y")))
    answers.append(attempt(lambda: mi.groupby(level="x").sum()))
    answers.append(attempt(lambda: mi.swaplevel().sort_index()))
    answers.append(attempt(lambda: mi.loc[("a",2),"v"]))
    answers.append(attempt(lambda: mi.loc["a"]))
    answers.append(attempt(lambda: mi.sum()))
    answers.append(attempt(lambda: mi.reset_index()))
    answers.append(attempt(lambda: pd.concat([mi, mi], axis=1, keys=["p","q"])))
    answers.append(attempt(lambda: pd.concat([pd.Series([1]),pd.Series(["a"])]).dtype))
    answers.append(attempt(lambda: pd.concat([pd.DataFrame({"a":[1]}),pd.DataFrame({"b":[2**40]})])))
    answers.append(attempt(lambda: pd.wide_to_long(pd.DataFrame({"i":[1,2],"A2020":[1,2],"A2021":[3,4]}), "A", "i", "yr")))
    answers.append(attempt(lambda: pd.DataFrame({"a":[[1,2],[3]]}).explode("a")))
    answers.append(attempt(lambda: pd.json_normalize([{"a":{"b":2**40}}])))
    answers.append(attempt(lambda: pd.DataFrame({"a":[1,2]}).transform([np.sqrt,np.exp])))
    answers.append(attempt(lambda: pd.DataFrame({"a":["x y","z"]}).a.str.split(expand=True)))
    answers.append(attempt(lambda: pd.Series(["a1b22"]).str.extract(r"(\d+)").astype(int)))
    answers.append(attempt(lambda: pd.Series(["a1b22"]).str.extractall(r"(\d+)")))
    answers.append(attempt(lambda: pd.Series(["a,b"]).str.get_dummies(",")))
    answers.append(attempt(lambda: pd.Series(["Äx"]).str.normalize("NFKD").str.encode("ascii","ignore")))
    answers.append(attempt(lambda: pd.Series(["ab"]).str.cat(["c"],sep="-")))
    answers.append(attempt(lambda: pd.Series(["a"]).str.zfill(4)))
    answers.append(attempt(lambda: pd.Series(["3"]).str.pad(4)))
    answers.append(attempt(lambda: pd.Series(["abc"]).str.slice(0,-1)))
    answers.append(attempt(lambda: pd.Series(["abc"]).str[::-1]))
    answers.append(attempt(lambda: pd.Series(["a b"]).str.title()))
    answers.append(attempt(lambda: pd.Series(["x"]).str.repeat(3)))
    answers.append(attempt(lambda: pd.Series(["a.b"]).str.replace(".","-",regex=False)))
    answers.append(attempt(lambda: pd.Series(["é"]).str.isalpha()))
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
