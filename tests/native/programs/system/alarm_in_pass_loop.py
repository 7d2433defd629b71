import signal
class Late(BaseException): pass
def late(*_): raise Late("over")
def main(args):
    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        while True: pass
    except Late as error:
        return repr(error)
