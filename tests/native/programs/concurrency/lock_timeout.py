import threading
def main(args):
    l = threading.Lock(); l.acquire()
    return [l.acquire(timeout=0.05), l.acquire(blocking=False), l.locked()]
