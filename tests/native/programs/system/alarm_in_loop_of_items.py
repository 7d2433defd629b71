import signal
class Timeout(Exception): pass
def handler(signum, frame): raise Timeout()
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps
def never(n):
    while True:
        n = (n * 3 + 1) % 1000003
def main(args):
    signal.signal(signal.SIGALRM, handler)
    results = {}
    for name, function, argument in (("ok", collatz, 27), ("bad", never, 5), ("again", collatz, 97)):
        signal.setitimer(signal.ITIMER_REAL, 2 if name != "bad" else 0.1)
        try:
            results[name] = function(argument)
        except Timeout:
            results[name] = "TIMEOUT"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return results
