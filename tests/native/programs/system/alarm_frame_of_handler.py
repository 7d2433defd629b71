import signal
seen = {}
def handler(signum, frame):
    seen["function"] = frame.f_code.co_name
    seen["local"] = frame.f_locals.get("marker")
    raise KeyboardInterrupt
def worker():
    marker = "here"
    while True:
        for _ in range(100):
            pass
def main(args):
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        worker()
    except KeyboardInterrupt:
        seen["end"] = "interrupted"
    return seen
