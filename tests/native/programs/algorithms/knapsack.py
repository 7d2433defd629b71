def main(args):
    w, v, cap = [1, 3, 4, 5], [1, 4, 5, 7], 7
    best = [0] * (cap + 1)
    for wi, vi in zip(w, v):
        for c in range(cap, wi - 1, -1):
            best[c] = max(best[c], best[c - wi] + vi)
    return best
