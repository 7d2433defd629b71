import numpy as np
from statsmodels.tsa.seasonal import seasonal_decompose
import pandas as pd
def main(args):
    s = pd.Series(np.tile([1., 2, 3, 2], 6) + np.arange(24) * .5, index=pd.date_range("2024-01-01", periods=24, freq="MS"))
    d = seasonal_decompose(s, period=4)
    return d.seasonal.iloc[:4].round(6).tolist()
