import contextlib, signal, time
@contextlib.contextmanager
def time_limit(seconds):
    def handler(signum, frame):
        raise TimeoutError("Timed out!")
    signal.signal(signal.SIGALRM, handler)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def main(args):
    with time_limit(30):
        first = fib(15)
    try:
        with time_limit(1):
            fib(60)
    except TimeoutError as error:
        second = str(error)
    return first, second
