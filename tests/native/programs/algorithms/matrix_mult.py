def main(args):
    a = [[1, 2], [3, 4]]
    b = [[sum(x * y for x, y in zip(r, c)) for c in zip(*a)] for r in a]
    return b
