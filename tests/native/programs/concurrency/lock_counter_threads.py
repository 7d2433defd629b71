import threading


class Counter:
    def __init__(self):
        self.n = 0
        self.lock = threading.Lock()

    def inc(self):
        for _ in range(1000):
            with self.lock:
                self.n += 1


def main(args):
    c = Counter()
    ts = [threading.Thread(target=c.inc, name=f"w{i}") for i in range(5)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    rl = threading.RLock()
    with rl, rl:
        pass
    sem = threading.BoundedSemaphore(2)
    sem.acquire()
    sem.release()
    try:
        sem.release()
    except ValueError as e:
        err = str(e)
    try:
        ts[0].start()
    except RuntimeError as e:
        err2 = str(e)
    return {"n": c.n, "names": [t.name for t in ts], "alive": [t.is_alive() for t in ts], "err": err, "err2": err2, "main": threading.main_thread().name, "locked": c.lock.locked(), "non": [c.lock.acquire(blocking=False), c.lock.acquire(timeout=0.01)]}
