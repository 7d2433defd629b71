import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve
def main(args):
    m = sparse.csr_matrix(np.diag([4., 5, 6]) + np.eye(3, k=1))
    return [m.nnz, spsolve(m, [1., 2, 3]).tolist(), (m @ m).toarray().tolist(), m.sum()]
