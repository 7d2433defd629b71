import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import datetime as dt
from matplotlib import dates
import pandas as pd


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
    day = dt.datetime(2024, 2, 28, 13, 45)
    fig, ax = plt.subplots()
    ax.plot([day, day + dt.timedelta(days=90)], [1, 2])
    fig.canvas.draw()
    answers.append(attempt(lambda: dates.date2num(day)))
    answers.append(attempt(lambda: str(dates.num2date(20000.25))))
    answers.append(attempt(lambda: dates.date2num(np.datetime64("2040-01-01"))))
    answers.append(attempt(lambda: dates.datestr2num("2024-03-01")))
    answers.append(attempt(lambda: [str(tick) for tick in dates.num2date(dates.MonthLocator().tick_values(day, day + dt.timedelta(days=100)))]))
    answers.append(attempt(lambda: [str(tick) for tick in dates.num2date(dates.AutoDateLocator().tick_values(day, day + dt.timedelta(days=400)))]))
    answers.append(attempt(lambda: [str(tick) for tick in dates.num2date(dates.WeekdayLocator(dates.MO).tick_values(day, day + dt.timedelta(days=20)))]))
    answers.append(attempt(lambda: dates.DateFormatter("%Y-%m-%d %H:%M")(20000.25)))
    answers.append(attempt(lambda: dates.ConciseDateFormatter(dates.AutoDateLocator()).format_ticks([20000, 20031, 20062])))
    answers.append(attempt(lambda: ax.get_xticks()))
    answers.append(attempt(lambda: [label.get_text() for label in ax.get_xticklabels()]))
    answers.append(attempt(lambda: ax.get_xlim()))
    answers.append(attempt(lambda: dates.num2timedelta(1.5).total_seconds()))
    answers.append(attempt(lambda: dates.drange(day, day + dt.timedelta(days=2), dt.timedelta(hours=12))))
    answers.append(attempt(lambda: pd.Series([1, 3, 2], pd.date_range("2024-01-31", periods=3, freq="ME")).plot().get_xlim()))
    answers.append(attempt(lambda: dates.get_epoch()))
    return answers
