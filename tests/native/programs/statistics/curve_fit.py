import numpy as np
from scipy.optimize import curve_fit
def main(args):
    x = np.linspace(0, 4, 30)
    y = 2.5 * np.exp(-1.3 * x) + 0.5
    p, c = curve_fit(lambda x, a, b, c: a * np.exp(-b * x) + c, x, y, p0=(1, 1, 0))
    return p.round(6).tolist()
