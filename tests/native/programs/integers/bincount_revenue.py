import numpy as np
def main(args):
    ids = np.array([0, 1, 1, 2, 2, 2])
    counts = np.bincount(ids)
    price = 1_500_000_000
    return {"revenue": (counts * price).tolist(), "total": int((counts * price).sum())}
