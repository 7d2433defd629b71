# refused: RuntimeError: two threads at once
import threading
import time


def main(args):
    stop = threading.Event()
    ticks = []
    def loop():
        while not stop.is_set():
            ticks.append(1)
            time.sleep(0.005)
    t = threading.Thread(target=loop)
    t.start()
    time.sleep(0.03)
    stop.set()
    t.join()
    return {"ticked": len(ticks) > 0}
