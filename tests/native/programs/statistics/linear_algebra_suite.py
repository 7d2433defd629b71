import numpy as np


def main(args):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(5, 5))
    S = A @ A.T
    q, r = np.linalg.qr(A)
    u, s, vt = np.linalg.svd(A)
    return {"det": np.linalg.det(A), "inv": np.linalg.inv(A).sum(), "eig": np.linalg.eigvalsh(S).round(9).tolist(), "s": s.tolist(), "rank": int(np.linalg.matrix_rank(A)), "cond": np.linalg.cond(A), "chol": np.linalg.cholesky(S).trace(),
            "solve": np.linalg.solve(A, np.ones(5)).tolist(), "lst": np.linalg.lstsq(A[:, :2], np.ones(5), rcond=None)[0].tolist(), "norm": [np.linalg.norm(A), np.linalg.norm(A, 1), np.linalg.norm(A, np.inf)], "rdiag": np.abs(np.diag(r)).tolist(),
            "pinv": np.linalg.pinv(A[:, :3]).shape, "kron": int(np.kron([[1, 2]], [[10**10], [3]]).sum()), "sign": np.linalg.slogdet(A)[0].item(), "poly": np.polyfit([0, 1, 2, 3], [1, 3, 7, 13], 2).round(9).tolist(), "roots": np.sort(np.roots([1, -6, 11, -6])).round(9).tolist()}
