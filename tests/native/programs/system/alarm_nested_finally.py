import signal, time
log = []
class Late(Exception): pass
def late(*_): raise Late("a")
def main(args):
    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        try:
            while True:
                time.sleep(0.001)
        finally:
            log.append("cleanup")
    except Late as error:
        log.append(repr(error))
    else:
        log.append("no")
    return log
