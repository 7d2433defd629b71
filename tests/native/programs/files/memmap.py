import numpy as np
def main(args):
    m = np.memmap("m.dat", dtype="float64", mode="w+", shape=(3,))
    m[:] = [1, 2, 3]; m.flush()
    return np.memmap("m.dat", dtype="float64", mode="r").tolist()
