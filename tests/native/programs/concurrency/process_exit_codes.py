# refused: OSError: a plain loop
import sys
from multiprocessing import Process


def ok():
    pass


def bad():
    sys.exit(3)


def main(args):
    out = []
    for f in (ok, bad):
        p = Process(target=f)
        p.start()
        p.join()
        out.append([p.exitcode, p.is_alive()])
    return out
