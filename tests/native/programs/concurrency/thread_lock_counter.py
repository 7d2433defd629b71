import threading
count = 0
lock = threading.Lock()
def work():
    global count
    for _ in range(1000):
        with lock: count += 1
def main(args):
    ts = [threading.Thread(target=work) for _ in range(4)]
    for t in ts: t.start()
    for t in ts: t.join()
    return [count, lock.locked(), threading.active_count(), ts[0].is_alive()]
