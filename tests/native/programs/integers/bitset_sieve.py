def sieve(n):
    flags = bytearray([1]) * (n + 1)
    flags[0:2] = b"\0\0"
    for i in range(2, int(n**0.5) + 1):
        if flags[i]:
            flags[i * i :: i] = bytes(len(range(i * i, n + 1, i)))
    return [i for i, f in enumerate(flags) if f]


def miller_rabin(n):
    if n < 2:
        return False
    for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        if n % p == 0:
            return n == p
    d, r = n - 1, 0
    while d % 2 == 0:
        d //= 2
        r += 1
    for a in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        x = pow(a, d, n)
        if x in (1, n - 1):
            continue
        for _ in range(r - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def main(args):
    primes = sieve(200_000)
    big = next(n for n in range(10**18, 10**18 + 500) if miller_rabin(n))
    return {"count": len(primes), "sum": sum(primes), "last": primes[-1], "big": big, "mersenne": miller_rabin(2**89 - 1),
            "bitcount": (2**89 - 1).bit_count(), "len": (10**50).bit_length(), "bytes": (2**70).to_bytes(9, "little").hex()}
