import numpy as np
def main(args):
    mask = np.zeros(60000, dtype=bool)
    mask[[50000, 59999]] = True
    pos = np.flatnonzero(mask)
    return {"pos": pos.tolist(), "sq": (pos ** 2).tolist(), "times": (pos * 100000).tolist()}
