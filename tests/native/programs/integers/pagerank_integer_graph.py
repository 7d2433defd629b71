import numpy as np


def main(args):
    n = 50
    adj = np.zeros((n, n), dtype=int)
    for i in range(n):
        for j in (2 * i, 3 * i + 1, i * i):
            adj[i, j % n] += 1
    power = np.linalg.matrix_power(adj, 12)
    walks = adj.copy()
    for _ in range(9):
        walks = walks @ adj
    trace = np.trace(power)
    rank = np.ones(n) / n
    p = adj / adj.sum(axis=1, keepdims=True)
    for _ in range(60):
        rank = 0.15 / n + 0.85 * rank @ p
    return {"trace": int(trace), "max": int(power.max()), "walks": int(walks.sum()),
            "rank": np.round(rank[:5], 9).tolist(), "argmax": int(rank.argmax())}
