def main(args):
    best, cache = (0, 0), {1: 1}
    for s in range(1, 20000):
        n, path = s, []
        while n not in cache:
            path.append(n); n = n // 2 if n % 2 == 0 else 3 * n + 1
        l = cache[n]
        for p in reversed(path):
            l += 1; cache[p] = l
        best = max(best, (cache[s], s))
    return best
