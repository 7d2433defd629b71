import numpy as np


def main(args):
    scores = np.array([3.5, 9.1, 2.2, 7.7, 9.0])
    order = np.argsort(-scores)
    ids = order * 1_000_000_007 + 2_000_000_000
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(scores))
    weights = (len(scores) - ranks) ** 20
    top = np.argmax(scores) + 3_000_000_000
    first = np.searchsorted(np.sort(scores), 7.0) << 40
    where = np.where(scores > 3)[0] * -3_000_000_000
    return {
        "ids": ids.tolist(), "ranks": ranks.tolist(), "weights": weights.tolist(),
        "top": int(top), "first": int(first), "where": where.tolist(),
    }
