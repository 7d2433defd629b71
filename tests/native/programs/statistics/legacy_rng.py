import numpy as np
def main(args):
    np.random.seed(1)
    return [np.random.rand(2).tolist(), np.random.randn(2).tolist(), np.random.choice(10, 3, replace=False).tolist(), np.random.binomial(10, .3, 4).tolist(), np.random.poisson(3, 3).tolist()]
