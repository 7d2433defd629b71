import threading
d = threading.local()
def main(args):
    d.x = 1; r = []
    t = threading.Thread(target=lambda: r.append(hasattr(d, "x"))); t.start(); t.join()
    return [r, d.x]
