# refused: OSError: a plain loop
import multiprocessing as mp


def add(v, lock):
    for _ in range(100):
        with lock:
            v.value += 1


def main(args):
    v = mp.Value("i", 0)
    lock = mp.Lock()
    ps = [mp.Process(target=add, args=(v, lock)) for _ in range(3)]
    [p.start() for p in ps]
    [p.join() for p in ps]
    return v.value
