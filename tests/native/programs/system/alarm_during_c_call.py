import signal
log = []
class Late(Exception): pass
def late(signum, frame):
    raise Late
def main(args):
    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        log.append(sum(range(60_000_000)))
        log.append("printed")
    except Late:
        log.append("late")
    return log
