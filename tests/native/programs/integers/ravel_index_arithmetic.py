import numpy as np


def main(args):
    shape = (100_000, 90_000)
    rows = np.array([99_999, 50_000, 1])
    cols = np.array([89_999, 45_000, 2])
    flat = rows * shape[1] + cols
    r, c = np.divmod(flat, shape[1])
    grid = np.arange(12).reshape(3, 4)
    ij = np.unravel_index(np.argmax(grid % 7), grid.shape)
    key = int(ij[0]) * 10**10 + int(ij[1])
    pair = ij[0] * 10**10 + ij[1]
    idx = np.indices((3, 3))
    cantor = (idx[0] + idx[1]) * (idx[0] + idx[1] + 1) // 2 + idx[1]
    return {
        "flat": flat.tolist(), "r": r.tolist(), "c": c.tolist(),
        "key": key, "pair": int(pair), "cantor": cantor.tolist(),
        "mr": np.ravel_multi_index(([1, 2], [3, 0]), (3, 4)).tolist(),
    }
