import importlib, sys
def main(args):
    found = []
    for name in ("json", "decimal", "socket", "signal", "select", "selectors", "subprocess",
                 "threading", "queue", "ssl", "fcntl", "pwd", "time", "random", "hashlib"):
        module = importlib.import_module(name)
        del sys.modules[name]
        again = importlib.import_module(name)
        found.append([name, again.__name__ == name])
    import signal, socket, time
    a, b = socket.socketpair()
    a.send(b"x")
    got = []
    signal.signal(signal.SIGALRM, lambda *args: got.append("alarm"))
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    time.sleep(0.1)
    return found, b.recv(1).decode(), got
