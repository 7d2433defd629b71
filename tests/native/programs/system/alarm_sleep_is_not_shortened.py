import signal, time
calls = []
def main(args):
    signal.signal(signal.SIGALRM, lambda *a: calls.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    start = time.monotonic()
    time.sleep(0.3)
    return time.monotonic() - start > 0.299, calls
