def queens(n):
    def place(row, cols, d1, d2):
        if row == n:
            return 1
        total = 0
        free = ~(cols | d1 | d2) & ((1 << n) - 1)
        while free:
            bit = free & -free
            free ^= bit
            total += place(row + 1, cols | bit, (d1 | bit) << 1, (d2 | bit) >> 1)
        return total
    return place(0, 0, 0, 0)


def solve(b):
    try:
        i = b.index("0")
    except ValueError:
        return b
    r, c = divmod(i, 9)
    used = set(b[r * 9 : r * 9 + 9]) | set(b[c::9]) | {b[(r // 3 * 3 + j) * 9 + c // 3 * 3 + k] for j in range(3) for k in range(3)}
    for d in "123456789":
        if d not in used:
            s = solve(b[:i] + d + b[i + 1 :])
            if s:
                return s


def main(args):
    return {"q": [queens(n) for n in range(1, 9)], "s": solve("530070000600195000098000060800060003400803001700020006060000280000419005000080079")}
