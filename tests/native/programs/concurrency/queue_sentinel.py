import queue, threading
def main(args):
    q, out = queue.Queue(), []
    def prod():
        for i in range(3): q.put(i)
        q.put(None)
    def cons():
        while (x := q.get()) is not None: out.append(x)
    p, c = threading.Thread(target=prod), threading.Thread(target=cons)
    p.start(); c.start(); p.join(); c.join()
    return out
