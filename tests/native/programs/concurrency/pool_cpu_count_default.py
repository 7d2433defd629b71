# script
import multiprocessing


def cube(n):
    return n**3


if __name__ == "__main__":
    multiprocessing.freeze_support()
    pool = multiprocessing.Pool(processes=multiprocessing.cpu_count())
    results = pool.map(cube, [1, 2, 3])
    pool.close()
    pool.join()
    print(results)
    print(multiprocessing.current_process().name, multiprocessing.get_start_method(allow_none=False) in ("fork", "spawn", "forkserver"))
