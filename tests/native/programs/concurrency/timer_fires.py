import threading
def main(args):
    r = []
    t = threading.Timer(0.01, r.append, ["tick"]); t.start(); t.join()
    return r
