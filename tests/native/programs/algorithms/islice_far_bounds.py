from itertools import islice, repeat, count


def main(args):
    gen = (i for i in range(5))
    a = list(islice(gen, 10**10))
    b = sum(islice(repeat(1, 1000), 0, 10**12))
    return {"a": a, "b": b}
