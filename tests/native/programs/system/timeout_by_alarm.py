import signal


class TimeoutExpired(Exception):
    pass


def handler(signum, frame):
    raise TimeoutExpired("too slow")


def main(args):
    signal.signal(signal.SIGALRM, handler)
    signal.alarm(1)
    try:
        n = 0
        while True:
            n += 1
    except TimeoutExpired as e:
        return str(e)
