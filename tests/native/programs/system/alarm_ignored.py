import signal, time
def main(args):
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    time.sleep(0.15)
    return "still here", signal.getsignal(signal.SIGALRM).name
