import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.tsa.api as tsa


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
    rng = np.random.default_rng(1)
    values = np.cumsum(rng.normal(size=96)) + 3 * np.sin(np.arange(96) * np.pi / 6) + 20
    series = pd.Series(values, pd.date_range("2016-01-31", periods=96, freq="ME"))
    answers.append(attempt(lambda: tsa.seasonal_decompose(series, period=12).trend.dropna().iloc[:3].tolist()))
    answers.append(attempt(lambda: tsa.seasonal_decompose(series, period=12).seasonal.iloc[:12].round(8).tolist()))
    answers.append(attempt(lambda: tsa.seasonal_decompose(series.abs() + 50, period=12, model="multiplicative").resid.dropna().iloc[:3].tolist()))
    answers.append(attempt(lambda: tsa.STL(series, period=12).fit().trend.iloc[:3].tolist()))
    answers.append(attempt(lambda: tsa.STL(series, period=12, robust=True).fit().seasonal.iloc[:3].round(7).tolist()))
    answers.append(attempt(lambda: tsa.MSTL(series, periods=12).fit().trend[:3].round(7).tolist()))
    answers.append(attempt(lambda: sm.tsa.filters.hpfilter(series, 1600)[1].iloc[:3].round(7).tolist()))
    answers.append(attempt(lambda: sm.tsa.filters.bkfilter(series).iloc[:3].tolist()))
    answers.append(attempt(lambda: sm.tsa.filters.cffilter(series)[0].iloc[:3].tolist()))
    answers.append(attempt(lambda: sm.tsa.detrend(values, order=1)[:3]))
    answers.append(attempt(lambda: tsa.add_trend(series.head(3), "ct").values))
    answers.append(attempt(lambda: sm.datasets.macrodata.load_pandas().data.iloc[:2, :4].values))
    answers.append(attempt(lambda: sm.datasets.longley.load_pandas().data.sum().tolist()))
    return answers
