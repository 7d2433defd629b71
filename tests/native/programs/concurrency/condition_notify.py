import threading
def main(args):
    c, items = threading.Condition(), []
    def prod():
        with c: items.append(1); c.notify()
    threading.Thread(target=prod).start()
    with c: ok = c.wait_for(lambda: items, timeout=1)
    return bool(ok)
