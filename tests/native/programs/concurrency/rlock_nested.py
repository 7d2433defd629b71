import threading
def main(args):
    l = threading.RLock()
    with l:
        with l: a = 1
    return [a, threading.Lock().acquire(blocking=False)]
