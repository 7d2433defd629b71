import re, signal
class Late(Exception): pass
def late(*_): raise Late
def main(args):
    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        re.match(r"(a+)+$", "a" * 40 + "b")
    except Late:
        return "catastrophic backtracking was stopped"
