import numpy as np
def main(args):
    n = 100000
    sieve = np.ones(n + 1, dtype=bool)
    sieve[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if sieve[i]:
            sieve[i*i::i] = False
    primes = np.nonzero(sieve)[0]
    return {"count": len(primes), "sum": int(primes.sum()), "sumsq": int((primes**2).sum()), "last": int(primes[-1])**2}
