# refused: RuntimeError|Deadlock: lock
import threading
def main(args):
    l = threading.Lock()
    l.acquire(); l.acquire()
