# refused: RuntimeError: two threads at once
import threading
import time


class Worker(threading.Thread):
    def __init__(self, n):
        super().__init__(daemon=True)
        self.n, self.result = n, None

    def run(self):
        time.sleep(0.001)
        self.result = sum(range(self.n))


def main(args):
    ws = [Worker(i * 1000) for i in range(4)]
    before = [w.result for w in ws]
    for w in ws:
        w.start()
    while any(w.is_alive() for w in ws):
        time.sleep(0.001)
    return {"before": before, "res": [w.result for w in ws], "d": ws[0].daemon, "id": isinstance(ws[0].ident, int), "enum": len(threading.enumerate())}
