from concurrent.futures import ProcessPoolExecutor


def is_prime(n):
    return n > 1 and all(n % i for i in range(2, int(n**0.5) + 1))


def main(args):
    nums = list(range(10_000, 10_050))
    with ProcessPoolExecutor(max_workers=4) as ex:
        flags = list(ex.map(is_prime, nums, chunksize=10))
    return [n for n, f in zip(nums, flags) if f]
