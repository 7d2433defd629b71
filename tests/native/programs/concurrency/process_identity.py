import os
from multiprocessing import Pool, current_process


def who(_):
    return os.getpid(), current_process().name


def main(args):
    with Pool(2) as p:
        r = p.map(who, range(4))
    return {"other": all(pid != os.getpid() for pid, _ in r), "named": all("Worker" in n for _, n in r)}
