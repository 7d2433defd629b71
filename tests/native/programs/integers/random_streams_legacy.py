import random

import numpy as np


def main(args):
    np.random.seed(2024)
    a = np.random.randint(0, 100, 6).tolist()
    b = np.random.randint(10**10, size=3).tolist()
    c = np.random.permutation(8).tolist()
    d = np.random.choice(["x", "y", "z"], 5, p=[0.2, 0.3, 0.5]).tolist()
    e = np.random.rand(2).tolist()
    f = np.random.binomial(10**6, 0.3, 3).tolist()
    g = np.random.poisson(1e6, 2).tolist()
    h = np.random.geometric(1e-6, 2).tolist()
    z = np.random.zipf(1.2, 4).tolist()
    m = np.random.multinomial(10**9, [0.2, 0.8]).tolist()
    nb = np.random.negative_binomial(5, 1e-5, 2).tolist()
    hy = np.random.hypergeometric(1000, 5000, 100, 3).tolist()
    arr = np.arange(6)
    np.random.shuffle(arr)
    random.seed(99)
    r = [random.randint(0, 10**18), random.getrandbits(70), random.choice(range(2**31 - 1)), random.sample(range(10**6), 3)]
    lst = list(range(8))
    random.shuffle(lst)
    return dict(a=a, b=b, c=c, d=d, e=e, f=f, g=g, h=h, z=z, m=m, nb=nb, hy=hy, arr=arr.tolist(), r=r, lst=lst,
                ex=random.expovariate(3), ga=random.gauss(0, 1), tri=random.triangular(0, 1), ch=random.choices("abc", [1, 2, 3], k=5))
