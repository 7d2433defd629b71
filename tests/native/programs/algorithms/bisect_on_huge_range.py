import bisect


def main(args):
    target = 10**15 + 12345
    root = bisect.bisect_left(range(10**9), target, key=lambda x: x * x)
    first_bad = bisect.bisect(range(2**33), 2**32 + 17)
    return {"root": root, "bad": first_bad}
