import signal, time
ticks = []
def tick(signum, frame):
    ticks.append(signum)
    if len(ticks) == 5:
        signal.setitimer(signal.ITIMER_REAL, 0)
def main(args):
    signal.signal(signal.SIGALRM, tick)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    end = time.monotonic() + 1
    while time.monotonic() < end and len(ticks) < 5:
        pass
    time.sleep(0.1)
    return ticks, signal.getitimer(signal.ITIMER_REAL)
