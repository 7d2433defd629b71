import threading
def main(args):
    r = []
    t = threading.Thread(target=lambda: r.append(threading.current_thread().name), name="worker-1"); t.start(); t.join()
    return [r, threading.current_thread() is threading.main_thread()]
