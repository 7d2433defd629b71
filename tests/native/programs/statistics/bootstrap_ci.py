import numpy as np
def main(args):
    r = np.random.default_rng(3)
    d = r.normal(10, 2, 100)
    means = np.array([r.choice(d, 100).mean() for _ in range(500)])
    return np.percentile(means, [2.5, 50, 97.5]).tolist()
