# script
import threading


def boom():
    raise ValueError("in thread")


caught = []
threading.excepthook = lambda a: caught.append((a.exc_type.__name__, str(a.exc_value), a.thread.name))
t = threading.Thread(target=boom, name="T1")
t.start()
t.join()
print(caught)
print("main goes on")
