import numpy as np
from statsmodels.tsa.stattools import acf, adfuller
def main(args):
    x = np.random.default_rng(5).normal(size=60).cumsum()
    return [acf(x, nlags=4).round(8).tolist(), round(float(adfuller(x, maxlag=3, autolag=None)[0]), 6)]
