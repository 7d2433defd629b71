import numpy as np


def main(args):
    a = np.arange(5)
    out = np.zeros(5, dtype=np.int64)
    np.multiply(a, 10**15, out=out)
    buf = np.empty(5)
    np.cumsum(a * 10**9, out=buf)
    pos = np.flatnonzero(a > 1)
    res = np.empty(3, dtype=np.int64)
    np.multiply(pos, 10**10, out=res)
    tot = np.add.accumulate(a * 1_500_000_000)
    red = np.add.reduceat(a * 2**31, [0, 2, 4])
    outer = np.multiply.outer(a, a * 10**9)
    b = np.arange(3)
    b += 3_000_000_000
    b *= 2
    b <<= 3
    return {"out": out.tolist(), "buf": buf.tolist(), "res": res.tolist(), "tot": tot.tolist(),
            "red": red.tolist(), "outer": int(outer.sum()), "b": b.tolist()}
