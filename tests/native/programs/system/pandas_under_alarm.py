import signal
import pandas as pd
class Late(Exception): pass
def late(*_): raise Late
def main(args):
    frame = pd.DataFrame({"x": range(1000)})
    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        while True:
            frame["y"] = frame.x.apply(lambda v: v + 1)
    except Late:
        pass
    signal.alarm(0)
    return int((frame.x + 1).sum())
