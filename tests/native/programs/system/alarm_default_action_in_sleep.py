# refused: SystemExit: the program ended itself with SIGALRM
import signal, time
def main(args):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    time.sleep(60)
