import numpy as np


def main(args):
    rng = np.random.default_rng(12345)
    out = {
        "int": rng.integers(0, 10, 5).tolist(), "big": rng.integers(0, 2**62, 3).tolist(),
        "i32": rng.integers(-5, 5, 4, dtype=np.int32).tolist(), "u8": rng.integers(0, 255, 4, dtype=np.uint8, endpoint=True).tolist(),
        "choice": rng.choice(50, 6, replace=False).tolist(), "p": rng.choice(4, 5, p=[0.1, 0.2, 0.3, 0.4]).tolist(),
        "perm": rng.permutation(7).tolist(), "normal": rng.normal(5, 2, 3).tolist(), "poisson": rng.poisson(3, 4).tolist(),
        "binom": rng.binomial(10**7, 0.5, 2).tolist(), "geo": rng.geometric(1e-5, 2).tolist(), "multi": rng.multinomial(10**6, [0.5, 0.5]).tolist(),
        "gamma": rng.gamma(2.0, size=2).tolist(), "dir": rng.dirichlet([1, 2, 3]).tolist(), "exp": rng.exponential(size=2).tolist(),
        "hyp": rng.hypergeometric(10**5, 10**5, 1000, 2).tolist(), "mvh": rng.multivariate_hypergeometric([10, 20, 30], 12).tolist(),
        "bytes": rng.bytes(5).hex(), "std_t": rng.standard_t(4, 2).tolist(), "mvn": rng.multivariate_normal([0, 0], [[1, .5], [.5, 2]]).tolist(),
    }
    x = np.arange(12).reshape(4, 3)
    rng.shuffle(x, axis=1)
    out["shuf"] = x.tolist()
    out["spawn"] = [int(c.integers(10**9)) for c in rng.spawn(2)]
    out["ss"] = [int(v) for v in np.random.SeedSequence(7).generate_state(3)]
    out["mt"] = np.random.Generator(np.random.MT19937(3)).integers(0, 10**12, 2).tolist()
    out["phil"] = np.random.Generator(np.random.Philox(3)).random(2).tolist()
    return out
