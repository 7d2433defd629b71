import numpy as np
def main(args):
    edges = np.array([0, 10, 20, 30])
    i = np.searchsorted(edges, [5, 15, 25, 30])
    return (i * 2_000_000_000).tolist()
