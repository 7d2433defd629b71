import functools, signal, time

class TimeoutException(Exception):
    pass

def timeout(seconds):
    def decorate(function):
        def on_alarm(signum, frame):
            raise TimeoutException(f"{function.__name__} took longer than {seconds} s")
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            old = signal.signal(signal.SIGALRM, on_alarm)
            signal.alarm(seconds)
            try:
                return function(*args, **kwargs)
            finally:
                signal.alarm(0)
                signal.signal(signal.SIGALRM, old)
        return wrapper
    return decorate

@timeout(1)
def spin():
    n = 0
    while True:
        n += 1

@timeout(1)
def nap():
    time.sleep(30)

@timeout(5)
def quick(n):
    return sum(range(n))

def main(args):
    found = []
    for function in (spin, nap):
        try:
            function()
        except TimeoutException as error:
            found.append(str(error))
    found.append(quick(1000))
    found.append(signal.getsignal(signal.SIGALRM) == signal.SIG_DFL)
    return found
