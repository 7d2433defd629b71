def main(args):
    g = [list(map(int, r)) for r in ("530070000", "600195000", "098000060", "800060003", "400803001", "700020006", "060000280", "000419005", "000080079")]
    def ok(r, c, n):
        return all(g[r][i] != n and g[i][c] != n for i in range(9)) and all(g[r//3*3+i][c//3*3+j] != n for i in range(3) for j in range(3))
    def solve():
        for r in range(9):
            for c in range(9):
                if g[r][c] == 0:
                    for n in range(1, 10):
                        if ok(r, c, n):
                            g[r][c] = n
                            if solve(): return True
                            g[r][c] = 0
                    return False
        return True
    solve()
    return ["".join(map(str, r)) for r in g]
