"""Multiplies matrices, calculates sines and sorts with NumPy."""

import numpy as np


def main(args):
    values = np.arange(360000, dtype=np.float64).reshape(600, 600) / 360000
    product = values @ values.T
    waves = np.sin(np.arange(300000) / 100)
    ordered = np.sort(np.arange(100000) * 7919 % 100003 / 7)
    return [float(product.sum()), float(waves.sum()), float(ordered[1000])]
