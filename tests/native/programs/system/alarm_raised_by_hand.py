import os, signal
got = []
def main(args):
    signal.signal(signal.SIGALRM, lambda s, f: got.append(signal.Signals(s).name))
    os.kill(os.getpid(), signal.SIGALRM)
    signal.raise_signal(signal.SIGALRM)
    return got
