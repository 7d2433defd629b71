def main(args):
    p = list(range(10))
    def find(x):
        while p[x] != x:
            p[x] = p[p[x]]; x = p[x]
        return x
    for a, b in [(1, 2), (3, 4), (2, 3), (8, 9)]:
        p[find(a)] = find(b)
    return len({find(i) for i in range(10)})
