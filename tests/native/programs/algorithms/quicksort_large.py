import random
def main(args):
    random.seed(5)
    x = [random.randint(0, 10**12) for _ in range(2000)]
    def qs(a):
        return a if len(a) < 2 else qs([v for v in a[1:] if v < a[0]]) + [a[0]] + qs([v for v in a[1:] if v >= a[0]])
    return [qs(x) == sorted(x), qs(x)[:3]]
