# refused: OSError: a plain loop
from multiprocessing import Manager, Process


def fill(d, k):
    d[k] = k * 2


def main(args):
    with Manager() as m:
        d = m.dict()
        ps = [Process(target=fill, args=(d, i)) for i in range(3)]
        for p in ps:
            p.start()
        for p in ps:
            p.join()
        return {str(k): v for k, v in sorted(d.items())}
