import numpy as np
import pandas as pd


def main(args):
    idx = pd.date_range("2024-02-26", periods=400, freq="7h")
    s = pd.Series(np.arange(400) * 50_000_000, index=idx)
    weekly = s.resample("W").sum()
    count = s.resample("ME").count() * 10**10
    roll = s.rolling(5).sum().dropna().astype(int)
    exp = s.expanding().sum().astype("int64")
    ohlc = s.resample("MS").ohlc()
    return {
        "weekly": weekly.head(3).tolist(), "dtype": str(weekly.dtype), "count": count.tolist(), "roll": roll.tail(2).tolist(),
        "exp": int(exp.iloc[-1]), "ohlc": ohlc.astype(int).to_numpy().tolist()[:2], "cdtype": str(count.dtype),
        "asfreq": int(s.asfreq("14h").sum()), "shift": int(s.diff().dropna().astype(int).unique()[0]),
        "first": str(weekly.index[0].date()),
    }
