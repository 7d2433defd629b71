import numpy as np
def main(args):
    x = np.linspace(0, 10_000_000_000, 5, dtype=int)
    return [x.tolist(), str(x.dtype)]
