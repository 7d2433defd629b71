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
    answers.append(attempt(lambda: pd.interval_range(0, 10**10, 4)))
    answers.append(attempt(lambda: pd.Interval(0,5).overlaps(pd.Interval(4,6))))
    answers.append(attempt(lambda: pd.arrays.IntervalArray.from_tuples([(0,1),(2,3)]).mid))
    answers.append(attempt(lambda: pd.Categorical(["a","b","a"], ordered=True).codes))
    answers.append(attempt(lambda: pd.Categorical(["a","b"]).codes.dtype))
    answers.append(attempt(lambda: pd.Series(["lo","hi"], dtype=pd.CategoricalDtype(["lo","hi"], ordered=True)).max()))
    answers.append(attempt(lambda: pd.period_range("2024-01", periods=3, freq="M").asfreq("D","end")))
    answers.append(attempt(lambda: pd.Period("2024Q1").start_time))
    answers.append(attempt(lambda: pd.Period("2024-01","M").ordinal * 10**10))
    answers.append(attempt(lambda: pd.Period("2024-02").days_in_month))
    answers.append(attempt(lambda: pd.Period("2024-01-01","D") - pd.Period("2023-01-01","D")))
    answers.append(attempt(lambda: pd.PeriodIndex(["2024-01","2024-02"],freq="M").to_timestamp()))
    answers.append(attempt(lambda: pd.Timestamp("2024-03-10 02:30", tz="America/New_York")))
    answers.append(attempt(lambda: pd.Timestamp("2024-11-03 01:30").tz_localize("America/New_York")))
    answers.append(attempt(lambda: pd.Timestamp("2024-11-03 01:30").tz_localize("America/New_York", ambiguous=True)))
    answers.append(attempt(lambda: pd.Timestamp("2024-07-01", tz="Europe/Berlin").tz_convert("Asia/Kolkata")))
    answers.append(attempt(lambda: pd.Timestamp("2024-07-01").value))
    answers.append(attempt(lambda: pd.Timestamp.max))
    answers.append(attempt(lambda: pd.Timestamp(10**18)))
    answers.append(attempt(lambda: pd.Timestamp(2**40, unit="s")))
    answers.append(attempt(lambda: pd.Timestamp("2500-01-01")))
    answers.append(attempt(lambda: pd.Timestamp("1066-10-14")))
    answers.append(attempt(lambda: pd.Timestamp("2024-01-31") + pd.DateOffset(months=1)))
    answers.append(attempt(lambda: pd.Timestamp("2024-01-31") + pd.offsets.BMonthEnd()))
    answers.append(attempt(lambda: pd.Timestamp("2024-01-31") + pd.offsets.QuarterBegin()))
    answers.append(attempt(lambda: pd.offsets.Week(weekday=2).rollforward(pd.Timestamp("2024-01-01"))))
    answers.append(attempt(lambda: pd.date_range("2024-01-01", periods=4, freq="BME")))
    answers.append(attempt(lambda: pd.date_range("2024-01-01","2024-01-02",freq="7h")))
    answers.append(attempt(lambda: pd.bdate_range("2024-01-01",periods=6)))
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
