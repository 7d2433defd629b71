import numpy as np


def main(args):
    a = np.memmap("arr.dat", dtype="int64", mode="w+", shape=(100, 10))
    a[:] = np.arange(1000).reshape(100, 10) * 10**10
    a.flush()
    del a
    b = np.memmap("arr.dat", dtype="int64", mode="r", shape=(100, 10))
    s = int(b[5:10].sum())
    c = np.memmap("arr.dat", dtype="int64", mode="r+", offset=8)
    c[0] = -1
    c.flush()
    return {"s": s, "shape": b.shape, "c": int(np.fromfile("arr.dat", dtype="int64")[1]), "type": type(b).__name__}
