import numpy as np
def main(args):
    a = np.zeros(3, dtype=int)
    a[0] = 2**40
    b = np.full(2, 2**35)
    c = np.ones(2, dtype=int) * 2**33
    return [a.tolist(), b.tolist(), c.tolist(), str(a.dtype), str(b.dtype)]
