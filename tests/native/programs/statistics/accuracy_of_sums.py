import math

import numpy as np
import pandas as pd


def main(args):
    x = np.array([0.1] * 1_000_003)
    y = np.array([1e16, 1.0, -1e16] * 3)
    f = np.full(100_000, 0.1, dtype=np.float32)
    return {"np": x.sum().hex(), "py": sum([0.1] * 10).hex(), "fs": math.fsum([0.1] * 10).hex(), "y": y.sum(), "pd": pd.Series(y).sum(), "f32": float(f.sum()), "cum": float(f.cumsum()[-1]), "mean32": float(f.mean()), "std": x.std(), "dot": float(x[:1000] @ x[:1000]), "var": float(np.var([1e9 + 1, 1e9 + 2, 1e9 + 3])),
            "hyp": math.hypot(3, 4, 12), "prod": math.prod([0.1] * 5), "sumprod": math.sumprod([1.5, 2], [3, 4.25]), "exp": [math.exp(1.5), math.log(10), math.sin(1e6), math.tan(1.5), math.pow(2.5, 3.7), math.gamma(5.5), math.erf(0.3), math.lgamma(100.5), math.cbrt(2)], "fma": math.fmod(-7.5, 2), "rem": math.remainder(7.5, 2), "nx": math.nextafter(1, 2), "ulp": math.ulp(1e10), "dist": math.dist([0, 0], [1, 1])}
