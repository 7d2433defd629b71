import sys

sys.setrecursionlimit(10**6)


def total(n):
    if n == 0:
        return 0
    return n + total(n - 1)


def main(args):
    return {"sum": total(50_000)}
