import numpy as np
import pandas as pd


def main(args):
    ts = pd.to_datetime(["2024-03-01 12:00:00", "1969-07-20 20:17:40", "2099-12-31 00:00:00"])
    ns = ts.astype("int64")
    unit = str(ts.dtype)
    sec = (ts - pd.Timestamp("1970-01-01")) // pd.Timedelta(seconds=1)
    d = np.array(["2024-01-01", "2025-06-30"], dtype="datetime64[D]")
    ms = d.astype("datetime64[ms]").astype("int64")
    diff = np.diff(d).astype(int)
    idx = pd.date_range("2024-01-01", periods=4, freq="36h")
    return {
        "unit": unit,
        "ns": ns.tolist(), "sec": sec.tolist(), "ms": ms.tolist(), "diff": diff.tolist(),
        "asi8": idx.asi8.tolist(),
        "view": idx.to_numpy().view("int64").tolist(),
        "value": pd.Timestamp("2024-05-05 05:05:05.123456789").value,
        "td": pd.Timedelta("100 days").value,
        "mean": str(idx.to_series().mean()),
    }
