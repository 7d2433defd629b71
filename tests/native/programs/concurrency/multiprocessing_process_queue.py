# refused: OSError: a plain loop
from multiprocessing import Process, Queue


def worker(q, n):
    q.put((n, n * n))


def main(args):
    q = Queue()
    ps = [Process(target=worker, args=(q, i)) for i in range(3)]
    for p in ps:
        p.start()
    got = sorted(q.get() for _ in ps)
    for p in ps:
        p.join()
    return {"got": got, "codes": [p.exitcode for p in ps]}
