import sys
sys.setrecursionlimit(10000)
def main(args):
    def a(m, n):
        return n + 1 if m == 0 else a(m - 1, 1) if n == 0 else a(m - 1, a(m, n - 1))
    return a(2, 300)
