import warnings

import numpy as np

warnings.simplefilter("ignore")


def main(args):
    x = np.array([np.nan, np.inf, -np.inf, 1e10, -1e10, 1e19, 200.0, -1.0])
    return {
        "int64": x.astype(np.int64).tolist(),
        "int32": x.astype(np.int32).tolist(),
        "f4": np.array([np.nan, np.inf, 5.5], dtype=np.float32).astype(np.int64).tolist(),
        "scalar": [int(np.float64(3.7)), int(np.int64(np.float64(2.5)))],
        "f4_i32": np.array([np.nan, -np.inf, 1e12], dtype="f4").astype("i4").tolist(),
    }
