import signal
def main(args):
    found = []
    for call in (lambda: signal.alarm(1.5), lambda: signal.alarm("1"), lambda: signal.alarm(),
                 lambda: signal.setitimer(signal.ITIMER_REAL, -1), lambda: signal.setitimer(9, 1),
                 lambda: signal.setitimer(signal.ITIMER_REAL, "1"),
                 lambda: signal.setitimer(signal.ITIMER_REAL, None),
                 lambda: signal.getitimer(9), lambda: signal.signal(signal.SIGALRM, 5),
                 lambda: signal.signal(signal.SIGALRM, "x"), lambda: signal.signal(99, signal.SIG_IGN)):
        try:
            found.append(call())
        except Exception as error:
            found.append([type(error).__name__, isinstance(error, OSError)])
    return found
