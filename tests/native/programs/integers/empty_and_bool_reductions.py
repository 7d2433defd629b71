import numpy as np


def main(args):
    b = np.array([True, False, True, True])
    e = np.array([], dtype=int)
    many = np.ones(70_000, dtype=bool)
    return {
        "sum": int(b.sum()), "sumt": type(b.sum()).__name__, "cum": (b.cumsum() * 10**10).tolist(), "mean": b.mean().item(), "nz": int(np.count_nonzero(many)) * 10**6,
        "sq": int(many.sum() ** 2), "sqn": int(many.cumsum()[-1] ** 2), "dot": int(many.astype(int) @ np.arange(70_000)), "e": [int(e.sum()), int(e.prod())],
        "any": bool(b.any()), "argmax": int(b.argmax()), "dtype": str(b.sum().dtype), "idx": [int(i) for i in np.nonzero(b)[0]], "vdot": int(np.vdot(np.arange(5), np.arange(5)) * 10**9),
        "ein": int(np.einsum("i,i->", np.arange(60_000), np.arange(60_000))), "tri": int(np.tri(300, dtype=int).sum()), "inner": int(np.inner([10**5, 10**5], [10**5, 10**5])),
        "trapz": float(np.trapezoid([1, 2, 3])), "conv": np.convolve([10**5, 2], [10**5, 3]).tolist(), "corr": np.correlate([10**6, 1], [10**6, 1]).tolist(),
    }
