import threading


def main(args):
    out = []
    cond = threading.Condition()
    ready = []
    def waiter():
        with cond:
            cond.wait_for(lambda: ready, timeout=5)
            out.append(ready[0])
    def setter():
        with cond:
            ready.append("go")
            cond.notify_all()
    ts = [threading.Thread(target=f) for f in (waiter, setter)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    bar = threading.Barrier(3)
    res = []
    def b(i):
        bar.wait(5)
        res.append(i)
    ts = [threading.Thread(target=b, args=(i,)) for i in range(3)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    return {"out": out, "res": sorted(res)}
