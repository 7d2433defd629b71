import sys

sys.setrecursionlimit(20000)


def depth(tree, node):
    return 1 + max((depth(tree, c) for c in tree.get(node, ())), default=0)


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def main(args):
    chain = {i: [i + 1] for i in range(2000)}
    return {"depth": depth(chain, 0), "ack": ackermann(2, 200), "limit": sys.getrecursionlimit()}
