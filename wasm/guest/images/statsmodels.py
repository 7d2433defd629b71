"""Statistics: statsmodels with formulas, regressions and time series."""

import numpy
import pandas
import statsmodels.api
import statsmodels.formula.api
import statsmodels.tsa.api
import statsmodels.tsa.arima.model


def fit_models():
    """Fits one model of each kind and writes its summary."""
    noise = numpy.random.default_rng(1).normal(size=40)
    x = numpy.arange(40.0)
    table = pandas.DataFrame({"x": x, "y": 2 * x + noise, "group": ["a", "b"] * 20})
    statsmodels.formula.api.ols("y ~ x + C(group)", data=table).fit().summary()
    statsmodels.api.OLS(table["y"], statsmodels.api.add_constant(x)).fit().params
    statsmodels.api.Logit((noise > 0).astype(int), noise * 0 + 1).fit(disp=0)
    series = pandas.Series(noise.cumsum(), pandas.date_range("2024-01-01", periods=40, freq="D"))
    statsmodels.tsa.arima.model.ARIMA(series, order=(1, 0, 0)).fit().forecast(2)
    statsmodels.tsa.api.seasonal_decompose(series, period=7)


fit_models()
