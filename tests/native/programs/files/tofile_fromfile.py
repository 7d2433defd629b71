import numpy as np
def main(args):
    a = np.arange(5, dtype="<i8"); a.tofile("x.bin")
    b = np.fromfile("x.bin", dtype="<i8")
    with open("x.bin", "rb") as f:
        f.seek(8); c = np.fromfile(f, dtype="<i8", count=2)
    return [b.tolist(), c.tolist()]
