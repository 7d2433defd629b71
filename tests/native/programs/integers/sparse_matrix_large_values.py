import numpy as np
from scipy import sparse


def main(args):
    rows = [0, 0, 1, 2, 2]
    cols = [1, 1, 0, 2, 0]
    vals = np.array([2_000_000_000, 2_000_000_000, 7, 3_000_000_000, 1])
    m = sparse.coo_matrix((vals, (rows, cols)), shape=(3, 3))
    csr = m.tocsr()
    deg = np.asarray(csr.sum(axis=0)).ravel()
    nnz_per_row = np.diff(csr.indptr)
    prod = (csr @ csr).toarray()
    counts = nnz_per_row.astype(int) * 3_000_000_000
    ones = sparse.csr_array(np.eye(3, dtype=int) * 50_000)
    sq = (ones @ ones @ ones).toarray()
    return {
        "dup": csr.toarray().tolist(), "sum": deg.tolist(), "total": int(csr.sum()),
        "prod": prod.tolist(), "counts": counts.tolist(), "cube": sq.tolist(),
        "diag": csr.diagonal().tolist(), "dtype": str(csr.dtype), "getnnz": csr.getnnz(axis=1).tolist(),
    }
