import numpy as np
import pandas as pd


def main(args):
    s = pd.Series([1.0, np.nan, 3.0])
    out = {}
    try:
        s.astype(int)
    except Exception as e:
        out["astype"] = [type(e).__name__, str(e)]
    out["Int64"] = [None if pd.isna(v) else int(v) for v in s.astype("Int64")]
    out["filled"] = s.fillna(-1).astype(int).tolist()
    df = pd.DataFrame({"a": [1, 2], "b": [1.5, np.inf]})
    try:
        df.astype({"b": int})
    except Exception as e:
        out["frame"] = [type(e).__name__, str(e)]
    out["to_numeric"] = pd.to_numeric(pd.Series(["1", "x", "3"]), errors="coerce").fillna(0).astype(int).tolist()
    return out
