import warnings

import numpy as np


def main(args):
    """Clean a sensor column that holds gaps and convert it to whole numbers."""
    readings = np.array([12.7, np.nan, 3e9, -np.inf, np.inf, -7.9, 0.0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        whole = readings.astype(int)
    return {
        "values": whole.tolist(),
        "dtype": str(whole.dtype),
        "warnings": [f"{w.category.__name__}: {w.message}" for w in caught],
        "bad": int((whole < -10**18).sum()),
    }
