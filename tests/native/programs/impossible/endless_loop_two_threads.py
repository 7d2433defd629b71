# refused: RuntimeError: two threads at once
import threading

a, b = threading.Event(), threading.Event()
log = []


def ping():
    for i in range(3):
        a.wait()
        a.clear()
        log.append("ping")
        b.set()


def pong():
    for i in range(3):
        a.set()
        b.wait()
        b.clear()
        log.append("pong")


t = [threading.Thread(target=ping), threading.Thread(target=pong)]
[x.start() for x in t]
[x.join() for x in t]
print(log)
