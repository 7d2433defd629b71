import numpy as np


def main(args):
    w = [12, 7, 11, 8, 9, 6, 7, 3, 5, 14]
    v = [24, 13, 23, 15, 16, 11, 12, 5, 9, 3 * 10**9]
    best = np.zeros(51, dtype=int)
    for wi, vi in zip(w, v):
        best[wi:] = np.maximum(best[wi:], best[:-wi] + vi)
    ways = np.zeros(1001, dtype=np.int64)
    ways[0] = 1
    for c in (1, 2, 5, 10, 20, 50, 100, 200):
        for i in range(c, 1001):
            ways[i] += ways[i - c]
    tri = np.zeros((40, 40), dtype=int)
    tri[:, 0] = 1
    for i in range(1, 40):
        tri[i, 1:] = tri[i - 1, 1:] + tri[i - 1, :-1]
    return {"best": int(best[-1]), "ways": int(ways[1000]), "tri": int(tri[39].max()), "cat": int(tri[38, 19] // 20)}
