import bisect
def main(args):
    a = list(range(0, 1000, 7))
    return [bisect.bisect_left(a, 500), bisect.bisect(a, 497), a[bisect.bisect_left(a, 501)]]
