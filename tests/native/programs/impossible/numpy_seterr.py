# refused: NotImplementedError: floating-point errors
import numpy as np

np.seterr(all="raise")


def main(args):
    try:
        return float(np.exp(np.float64(1000)))
    except FloatingPointError:
        return "too large"
