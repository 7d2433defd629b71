import random
from collections import defaultdict


class DSU:
    def __init__(self, n):
        self.p = list(range(n))

    def find(self, x):
        while self.p[x] != x:
            self.p[x] = self.p[self.p[x]]
            x = self.p[x]
        return x

    def union(self, a, b):
        a, b = self.find(a), self.find(b)
        self.p[a] = b
        return a != b


def main(args):
    rnd = random.Random("seed text")
    n = 300
    edges = [(rnd.randrange(10**9), rnd.randrange(n), rnd.randrange(n)) for _ in range(3000)]
    d = DSU(n)
    w = sum(c for c, a, b in sorted(edges) if d.union(a, b))
    groups = defaultdict(int)
    for i in range(n):
        groups[d.find(i)] += 1
    rb = random.Random(b"bytes")
    return {"w": w, "groups": sorted(groups.values()), "first": edges[0], "rb": rb.random(), "rf": random.Random(3.5).random(), "rs": random.Random(-7).randint(0, 10**30), "state": len(rnd.getstate()[1]), "gauss": rnd.gauss(0, 1), "bytes": rnd.randbytes(4).hex(), "beta": rnd.betavariate(2, 3), "vm": rnd.vonmisesvariate(0, 4), "bin": rnd.binomialvariate(1000, 0.3), "uni": rnd.uniform(-1, 1), "par": rnd.paretovariate(2)}
