from functools import lru_cache
from concurrent.futures import ThreadPoolExecutor
@lru_cache
def sq(x): return x * x
def main(args):
    with ThreadPoolExecutor(3) as e: r = list(e.map(sq, [1, 2, 1, 2]))
    return [r, sq.cache_info().currsize]
