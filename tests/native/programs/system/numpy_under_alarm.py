import signal
import numpy as np
class Late(Exception): pass
def late(*_): raise Late
def main(args):
    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    a = np.ones((50, 50))
    try:
        while True:
            a = a @ a / 50
    except Late:
        return float(a.sum())
