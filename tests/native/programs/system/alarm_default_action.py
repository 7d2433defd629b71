# refused: SystemExit: the program ended itself with SIGALRM
import signal
def main(args):
    signal.alarm(1)
    while True:
        pass
