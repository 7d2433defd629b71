import queue
import threading


def main(args):
    q = queue.Queue()
    results = []
    def producer():
        for i in range(5):
            q.put(i)
        q.put(None)
    def consumer():
        while True:
            item = q.get()
            if item is None:
                break
            results.append(item)
    for f in (producer, consumer):
        t = threading.Thread(target=f, daemon=True)
        t.start()
    t.join(timeout=5)
    return results
