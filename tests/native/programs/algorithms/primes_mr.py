def main(args):
    def is_prime(n):
        if n < 4: return n > 1
        d, s = n - 1, 0
        while d % 2 == 0: d //= 2; s += 1
        for a in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
            if a % n == 0: continue
            x = pow(a, d, n)
            if x in (1, n - 1): continue
            for _ in range(s - 1):
                x = x * x % n
                if x == n - 1: break
            else: return False
        return True
    return [n for n in (2**61 - 1, 2**61 + 1, 10**18 + 9, 999999999989) if is_prime(n)]
