import multiprocessing as mp


def square(x):
    return x * x


def add(a, b):
    return a + b


def main(args):
    with mp.Pool(4) as pool:
        a = pool.map(square, range(10))
        b = pool.starmap(add, [(1, 2), (3, 4)])
        c = pool.apply(add, (5, 6))
        d = pool.apply_async(square, (9,)).get(timeout=10)
        e = list(pool.imap(square, range(4), chunksize=2))
        f = sorted(pool.imap_unordered(square, range(4)))
    return [a, b, c, d, e, f]
