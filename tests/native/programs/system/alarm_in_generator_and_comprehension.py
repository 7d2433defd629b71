import signal
class Late(Exception): pass
def late(*_): raise Late
def forever():
    n = 0
    while True:
        yield n
        n += 1
def main(args):
    signal.signal(signal.SIGALRM, late)
    ends = []
    for work in (lambda: sum(1 for _ in forever()), lambda: all(n >= 0 for n in forever()),
                 lambda: [n for n in forever() if n < 0], lambda: list(filter(lambda n: n < 0, forever()))):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            work()
        except Late:
            ends.append("late")
    return ends
