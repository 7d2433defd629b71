import signal
class Late(Exception): pass
def late(*_): raise Late
def main(args):
    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    caught = 0
    while caught < 3:
        try:
            while True: pass
        except:
            caught += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    return caught
