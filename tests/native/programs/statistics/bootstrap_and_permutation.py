import numpy as np
import random


def main(args):
    rng = np.random.default_rng(2024)
    data = np.array([12, 15, 9, 20, 17, 13, 11, 19])
    means = rng.choice(data, (1000, len(data))).mean(axis=1)
    ci = np.percentile(means, [2.5, 97.5])
    a, b = data[:4], data[4:]
    random.seed(1)
    pool = data.tolist()
    count = 0
    for _ in range(2000):
        random.shuffle(pool)
        count += sum(pool[:4]) / 4 - sum(pool[4:]) / 4 >= a.mean() - b.mean()
    mc = sum(random.random() ** 2 + random.random() ** 2 <= 1 for _ in range(20000)) * 4 / 20000
    return {"ci": ci.tolist(), "p": count / 2000, "pi": mc, "jack": float(np.mean([np.delete(data, i).mean() for i in range(8)]))}
