import queue, threading
def main(args):
    q, out = queue.Queue(), []
    for i in range(6): q.put(i)
    def work():
        while True:
            try: x = q.get_nowait()
            except queue.Empty: return
            out.append(x * 10); q.task_done()
    ts = [threading.Thread(target=work, daemon=True) for _ in range(3)]
    [t.start() for t in ts]; q.join()
    return sorted(out)
