import numpy as np
from statsmodels.tsa.stattools import acf, adfuller
def main(args):
    x = np.sin(np.arange(60) / 3)
    return [acf(x, nlags=4).round(8).tolist(), round(float(adfuller(x, maxlag=3, autolag=None)[0]), 6)]
