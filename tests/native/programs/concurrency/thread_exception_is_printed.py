import threading
def main(args):
    def bad(): raise ValueError("in thread")
    seen = []
    threading.excepthook = lambda a: seen.append([a.exc_type.__name__, str(a.exc_value)])
    t = threading.Thread(target=bad); t.start(); t.join()
    return seen
