import signal
def own(signum, frame): pass
def main(args):
    names = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGUSR1):
        before = signal.signal(number, own)
        names.append(getattr(before, "name", getattr(before, "__name__", None)))
        names.append(signal.getsignal(number) is own)
        signal.signal(number, before)
    names.append(signal.strsignal(signal.SIGALRM))
    names.append(signal.SIGALRM in signal.valid_signals())
    names.append(int(signal.SIGALRM))
    return names
