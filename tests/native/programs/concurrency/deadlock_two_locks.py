import threading


def main(args):
    a, b = threading.Lock(), threading.Lock()
    got = []
    def w(x, y, n):
        with x:
            if y.acquire(timeout=0.05):
                got.append(n)
                y.release()
    ts = [threading.Thread(target=w, args=(a, b, 1)), threading.Thread(target=w, args=(b, a, 2))]
    [t.start() for t in ts]
    [t.join() for t in ts]
    return {"done": all(not t.is_alive() for t in ts)}
