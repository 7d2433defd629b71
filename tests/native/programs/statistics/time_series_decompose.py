import numpy as np
import pandas as pd
from statsmodels.tsa.arima.model import ARIMA
from statsmodels.tsa.holtwinters import ExponentialSmoothing
from statsmodels.tsa.seasonal import seasonal_decompose
from statsmodels.tsa.stattools import acf, adfuller


def main(args):
    idx = pd.date_range("2019-01-31", periods=60, freq="ME")
    y = pd.Series(100 + np.arange(60) * 0.8 + 10 * np.sin(np.arange(60) * 2 * np.pi / 12), index=idx)
    dec = seasonal_decompose(y, period=12)
    hw = ExponentialSmoothing(y, trend="add", seasonal="add", seasonal_periods=12).fit()
    return {"seas": dec.seasonal.iloc[:12].round(6).tolist(), "trend": dec.trend.dropna().iloc[[0, -1]].round(6).tolist(), "acf": acf(y, nlags=3).round(9).tolist(), "hw": hw.forecast(2).round(1).tolist(), "adf": round(adfuller(y, maxlag=1)[0], 4)}
