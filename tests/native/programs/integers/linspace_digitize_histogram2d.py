import numpy as np


def main(args):
    x = np.linspace(0, 10**10, 6, dtype=int)
    bins = np.digitize([0.5, 3.2, 9.9], [1, 2, 5, 9])
    h, xe, ye = np.histogram2d([1, 2, 2, 3], [4, 4, 5, 6], bins=(3, 2))
    w = np.histogram([1, 2, 2, 3], bins=3, weights=[10**10, 1, 1, 10**11])[0]
    cuts = np.percentile(np.arange(101) * 10**8, [5, 50, 95])
    return {"x": x.tolist(), "bins": (bins * 3_000_000_000).tolist(), "h": h.tolist(), "w": w.tolist(), "cuts": cuts.tolist(), "logspace": np.logspace(0, 12, 4, dtype=int).tolist(),
            "geom": np.geomspace(1, 10**12, 5).astype(int).tolist(), "arange": np.arange(0, 10**10, 3 * 10**9).tolist(), "full": np.full(2, 10**11).tolist(),
            "clip": np.clip(np.array([10**12, -5]), 0, 10**11).tolist(), "rint": np.rint([2.5, 3.5]).astype(int).tolist(), "pow": int(np.power(7, 20)), "tile": np.tile(10**10, 2).tolist(),
            "iinfo": str(np.array(2**31).dtype), "where": np.where([True, False], 10**10, -1).tolist(), "sel": np.select([[True, False]], [np.array([1, 2])], default=10**10).tolist()}
