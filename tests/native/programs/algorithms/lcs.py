def main(args):
    a, b = "AGGTABQWERTY", "GXTXAYBQERY"
    t = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a)):
        for j in range(len(b)):
            t[i+1][j+1] = t[i][j] + 1 if a[i] == b[j] else max(t[i][j+1], t[i+1][j])
    return t[-1][-1]
