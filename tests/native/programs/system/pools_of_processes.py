import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import Pool
def square(x): return x * x
def fail(x): raise ValueError(f"bad {x}")
def main(args):
    with ProcessPoolExecutor(max_workers=2) as pool:
        first = list(pool.map(square, range(5)))
        futures = {pool.submit(square, n): n for n in range(3)}
        second = sorted(future.result() for future in as_completed(futures))
        try:
            pool.submit(fail, 1).result()
        except ValueError as error:
            third = str(error)
    with Pool(2) as pool:
        fourth = pool.starmap(pow, [(2, 3), (3, 2)])
    return first, second, third, fourth
