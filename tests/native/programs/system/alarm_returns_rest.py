import signal
def main(args):
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    return [signal.alarm(100), signal.alarm(50), signal.alarm(0), signal.alarm(0)]
