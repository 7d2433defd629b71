import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.tsa.api as tsa
from statsmodels.tsa.api import ARIMA, SARIMAX, AutoReg, ExponentialSmoothing, Holt, SimpleExpSmoothing, VAR


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
    answers.append(attempt(lambda: ARIMA(series, order=(1, 0, 0)).fit().params.round(2).tolist()))
    answers.append(attempt(lambda: ARIMA(series, order=(1, 1, 1)).fit().forecast(3).round(1).tolist()))
    answers.append(attempt(lambda: SARIMAX(series, order=(1, 0, 0)).fit(disp=0).params.round(2).tolist()))
    answers.append(attempt(lambda: AutoReg(series, 2).fit().params.round(8).tolist()))
    answers.append(attempt(lambda: AutoReg(series, 1).fit().predict(96, 98).round(7).tolist()))
    answers.append(attempt(lambda: list(map(str, AutoReg(series, 1).fit().predict(96, 98).index))))
    answers.append(attempt(lambda: SimpleExpSmoothing(series, initialization_method="known", initial_level=20).fit(smoothing_level=0.3, optimized=False).forecast(2).tolist()))
    answers.append(attempt(lambda: Holt(series, initialization_method="known", initial_level=20, initial_trend=0).fit(smoothing_level=0.3, smoothing_trend=0.1, optimized=False).forecast(2).round(7).tolist()))
    answers.append(attempt(lambda: ExponentialSmoothing(series, trend="add", seasonal="add", seasonal_periods=12).fit().sse > 0))
    answers.append(attempt(lambda: VAR(pd.DataFrame({"a": series, "b": series.shift(2).bfill()})).fit(1).params.round(8).values))
    answers.append(attempt(lambda: sm.tsa.UnobservedComponents(series, "llevel").fit(disp=0).params.round(1).tolist()))
    return answers
