import threading
def main(args):
    e, r = threading.Event(), []
    def w(): r.append("done"); e.set()
    threading.Thread(target=w).start()
    return [e.wait(1), r]
