import numpy as np
import pandas as pd


def main(args):
    secs = np.array([1.7e9, np.nan, 0.0])
    d = secs.astype("datetime64[s]")
    s = pd.to_datetime(pd.Series(secs), unit="s")
    td = pd.to_timedelta(pd.Series([1.5, np.nan]), unit="h")
    return {"np": d.astype(str).tolist(), "pd": [str(v) for v in s], "td": [str(v) for v in td], "back": [None if pd.isna(v) else v.timestamp() for v in s], "int": s.dropna().astype("int64").tolist(), "sec": (s - pd.Timestamp(0)).dt.total_seconds().tolist()[::2], "diff": [str(v) for v in s.diff()]}
