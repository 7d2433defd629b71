import numpy as np


def main(args):
    values = np.array([1, 1, 2, 3, 3, 3, 9])
    uniq, counts = np.unique(values, return_counts=True)
    total = 0
    for u, c in zip(uniq, counts):
        total += c * 10**12 + u
    hist, edges = np.histogram(values, bins=4)
    hist = hist * 4_000_000_000
    acc = np.zeros(4, dtype=int)
    np.add.at(acc, [0, 0, 1, 3], 3_000_000_000)
    acc += hist
    cum = np.cumsum(values > 1) * 10**10
    return {"total": int(total), "hist": hist.tolist(), "edges": edges.tolist(), "acc": acc.tolist(), "cum": cum.tolist()}
