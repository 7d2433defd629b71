import pandas as pd, numpy as np, io, json
import sqlite3


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
    df = pd.DataFrame({"i":[1,2**40,-5],"f":[.1,np.nan,1e300],"s":["a","b,c",'q"'],"b":[True,False,True],"d":pd.to_datetime(["2024-01-01","2024-02-29 12:34:56.789",None],format="mixed"),"c":pd.Categorical(["x","y","x"]),"td":pd.to_timedelta([1,2,3],unit="h"),"I":pd.array([1,None,3],dtype="Int64")})
    for o in ["records","columns","index","split","table","values"]:
        pass
    df.to_excel("a.xlsx", index=False, sheet_name="S")
    with pd.ExcelWriter("b.xlsx", engine="xlsxwriter") as w:
        df[["i","f"]].to_excel(w, sheet_name="A"); df[["s"]].to_excel(w, sheet_name="B", startrow=3)
    df.drop(columns=["td"]).to_parquet("a.parquet")
    df.to_pickle("a.pkl")
    df.to_pickle("a.pkl.gz")
    df.to_csv("a.csv.zip"); df.to_csv("a.csv.bz2")
    c = sqlite3.connect(":memory:")
    df.to_stata("a.dta") if False else None
    answers.append(attempt(lambda: repr(pd.Series(["a"]).value_counts())))
    return answers
