import threading
def main(args):
    b = threading.Barrier(2)
    ts = [threading.Thread(target=b.wait) for _ in range(2)]
    [t.start() for t in ts]; [t.join() for t in ts]
    return b.broken
