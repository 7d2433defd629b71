import io
import warnings

import pandas as pd


def main(args):
    warnings.simplefilter("ignore")
    s = pd.Series(["01/02/2024", "15/03/2024"])
    mixed = pd.to_datetime(pd.Series(["2024-01-02", "Jan 5, 2024", "2024/03/04 05:06"]), format="mixed")
    x = pd.to_datetime([1704067200, 1735689600], unit="s")
    df = pd.read_csv(io.StringIO("d,v\n2024-01-05 10:00:00+02:00,1\n2024-07-05 10:00:00+02:00,2"), parse_dates=["d"])
    e = pd.to_datetime([44927, 45000.5], unit="D", origin="1899-12-30")
    return {"df": pd.to_datetime(s, dayfirst=True).dt.strftime("%Y-%m-%d").tolist(), "mixed": mixed.astype(str).tolist(), "x": [str(t) for t in x], "dtype": str(df.d.dtype), "v": [str(t) for t in df.d], "e": [str(t) for t in e], "co": str(pd.to_datetime(["x", "2024-01-01"], errors="coerce").tolist()),
            "td": [str(t) for t in pd.to_timedelta(["1 days 02:00:00", "90min", "1.5h"])], "per": str(pd.Period("2024-02", "M").end_time), "pr": [str(p) for p in pd.period_range("2024Q1", periods=3, freq="Q")], "q": pd.Series(mixed).dt.quarter.tolist(), "iso": pd.Series(mixed).dt.isocalendar().week.tolist(), "day": pd.Series(mixed).dt.day_name().tolist(), "m": pd.Timestamp("2024-02-29").days_in_month, "un": str(mixed.dtype), "eom": str(pd.Timestamp("2024-02-10") + pd.offsets.MonthEnd(0)), "ns": pd.Timestamp("2024-01-01T00:00:00.000000001").nanosecond, "js": pd.Series(mixed).to_json(), "repr": repr(pd.Timestamp("2024-01-01", tz="UTC"))}
