# refused: RuntimeError: two threads at once
import queue
import threading


def main(args):
    q = queue.Queue(maxsize=3)
    out = []
    def prod():
        for i in range(10):
            q.put(i)
        q.put(None)
    def cons():
        while (x := q.get()) is not None:
            out.append(x * x)
            q.task_done()
        q.task_done()
    a, b = threading.Thread(target=prod), threading.Thread(target=cons)
    b.start()
    a.start()
    a.join()
    b.join()
    q.join()
    pq = queue.PriorityQueue()
    for x in (3, 1, 2):
        pq.put(x)
    try:
        queue.Queue().get(timeout=0.01)
    except queue.Empty as e:
        emp = repr(e)
    return {"out": out, "pq": [pq.get() for _ in range(3)], "emp": emp, "lifo": _lifo(), "sz": q.qsize()}


def _lifo():
    l = queue.LifoQueue()
    l.put(1)
    l.put(2)
    return l.get_nowait()
