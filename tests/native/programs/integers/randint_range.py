import numpy as np
def main(args):
    np.random.seed(42)
    x = np.random.randint(0, 2**33, size=5)
    rng = np.random.default_rng(7)
    return {"legacy": x.tolist(), "dtype": str(x.dtype), "new": rng.integers(0, 2**40, 4).tolist()}
