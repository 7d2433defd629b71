import numpy as np
def main(args):
    r = np.random.default_rng(2026)
    return [r.normal(size=3).tolist(), r.integers(0, 10, 5).tolist(), r.choice(["a", "b", "c"], 4).tolist(), r.permutation(5).tolist(), r.exponential(2.0)]
