def main(args):
    def solve(n, row=0, cols=0, d1=0, d2=0):
        if row == n:
            return 1
        total, free = 0, ((1 << n) - 1) & ~(cols | d1 | d2)
        while free:
            bit = free & -free
            free ^= bit
            total += solve(n, row + 1, cols | bit, (d1 | bit) << 1, (d2 | bit) >> 1)
        return total
    return [solve(n) for n in range(4, 9)]
