import threading
import time


def main(args):
    log = []
    ev = threading.Event()
    t = threading.Timer(0.02, lambda: (log.append("tick"), ev.set()))
    t.start()
    ok = ev.wait(2)
    t2 = threading.Timer(5, log.append, ["never"])
    t2.start()
    t2.cancel()
    loc = threading.local()
    loc.x = 1
    def peek():
        log.append(hasattr(loc, "x"))
    p = threading.Thread(target=peek)
    p.start()
    p.join()
    return {"ok": ok, "log": log, "wait": ev.wait(0), "n": time.monotonic() > 0}
