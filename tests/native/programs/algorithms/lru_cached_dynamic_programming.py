from functools import cache, lru_cache


@lru_cache(maxsize=None)
def lcs(a, b):
    if not a or not b:
        return ""
    if a[0] == b[0]:
        return a[0] + lcs(a[1:], b[1:])
    x, y = lcs(a[1:], b), lcs(a, b[1:])
    return x if len(x) >= len(y) else y


@cache
def partitions(n, k):
    if n == 0:
        return 1
    if n < 0 or k == 0:
        return 0
    return partitions(n - k, k) + partitions(n, k - 1)


@lru_cache(maxsize=128)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def main(args):
    return {"lcs": lcs("ACCGGTCGAGTGCGCGG", "GTCGTTCGGAATGCCG"), "p": partitions(200, 200), "info": list(lcs.cache_info())[:2], "fib": str(fib(450)), "fi": list(fib.cache_info())}
