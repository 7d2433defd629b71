import numpy as np
from scipy import sparse
def main(args):
    m = sparse.coo_matrix(([2_000_000_000, 2_000_000_000], ([0, 0], [1, 1])), shape=(2, 2)).tocsr()
    return [int(m[0, 1]), int(m.sum()), str(m.dtype)]
