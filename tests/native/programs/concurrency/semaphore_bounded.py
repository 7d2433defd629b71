import threading
def main(args):
    s = threading.BoundedSemaphore(2); s.acquire(); s.acquire()
    a = s.acquire(timeout=0.01); s.release(); s.release()
    try: s.release()
    except ValueError as e: return [a, str(e)]
