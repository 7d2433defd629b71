# refused: OSError: use signal.ITIMER_REAL
import signal
def main(args):
    signal.setitimer(signal.ITIMER_PROF, 1)
