# refused: NotImplementedError: np.isfinite
import numpy as np


def main(args):
    with np.errstate(divide="raise", invalid="raise"):
        try:
            return (np.array([1.0, 0.0]) / np.array([0.0, 0.0])).tolist()
        except FloatingPointError as error:
            return str(error)
