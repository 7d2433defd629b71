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
    answers.append(attempt(lambda: pd.date_range("2024-03-30",periods=3,tz="Europe/Berlin",freq="D")))
    answers.append(attempt(lambda: pd.date_range("2024-01-01", periods=3, freq="W-WED")))
    answers.append(attempt(lambda: pd.tseries.holiday.USFederalHolidayCalendar().holidays("2024-01-01","2024-12-31")))
    answers.append(attempt(lambda: pd.offsets.CustomBusinessDay(holidays=["2024-01-02"]) * 3 + pd.Timestamp("2024-01-01")))
    answers.append(attempt(lambda: pd.Timedelta("3 days 04:05:06").total_seconds()))
    answers.append(attempt(lambda: pd.Timedelta("1 days")*10**4))
    answers.append(attempt(lambda: pd.Timedelta(5,"D").value))
    answers.append(attempt(lambda: pd.to_timedelta(["1h","2 days"]).sum()))
    answers.append(attempt(lambda: pd.Timedelta("1h").isoformat()))
    answers.append(attempt(lambda: pd.timedelta_range("1h", periods=3)))
    answers.append(attempt(lambda: pd.to_datetime(["2024-01-02","03/04/2024"], format="mixed")))
    answers.append(attempt(lambda: pd.to_datetime("13/02/2024", dayfirst=True)))
    answers.append(attempt(lambda: pd.to_datetime([1,2],unit="D")))
    answers.append(attempt(lambda: pd.to_datetime(1.7e9,unit="s")))
    answers.append(attempt(lambda: pd.to_datetime([1700000000123],unit="ms")))
    answers.append(attempt(lambda: pd.to_datetime(pd.DataFrame({"year":[2024],"month":[2],"day":[3]}))))
    answers.append(attempt(lambda: pd.to_datetime("x",errors="coerce")))
    answers.append(attempt(lambda: pd.to_datetime(20240131, format="%Y%m%d")))
    answers.append(attempt(lambda: pd.to_datetime("2024-13-01")))
    answers.append(attempt(lambda: pd.to_datetime(["2024-01-01T00:00:00+02:00","2024-06-01T00:00:00Z"], utc=True)))
    answers.append(attempt(lambda: pd.Series(pd.date_range("2024-01-01",periods=3)).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo").astype(str)))
    answers.append(attempt(lambda: pd.Series(pd.to_datetime(["2024-01-01","2024-01-05"])).mean()))
    answers.append(attempt(lambda: pd.Series(pd.to_datetime(["2024-01-01","2024-01-05"])).astype("int64")))
    answers.append(attempt(lambda: pd.Series(pd.to_datetime(["2024-01-01"])).dtype))
    answers.append(attempt(lambda: pd.Series([1,2,3]).astype("datetime64[s]")))
    answers.append(attempt(lambda: pd.Series(["2024"]).astype("datetime64[ns]")))
    answers.append(attempt(lambda: pd.MultiIndex.from_product([["a","b"],[1,2]], names=["x","y"]).to_frame()))
    answers.append(attempt(lambda: pd.MultiIndex.from_tuples([("a",1),("b",2)]).get_loc(("b",2))))
    answers.append(attempt(lambda: pd.MultiIndex.from_arrays([[1,1],[2,3]]).codes))
    mi = pd.DataFrame({"v":range(4)}, index=pd.MultiIndex.from_product([["a","b"],[1,2]], names=["x","y"]))
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
