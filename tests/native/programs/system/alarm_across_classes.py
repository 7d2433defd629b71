import signal, time
class Timeout:
    def __init__(self, seconds): self.seconds = seconds
    def _handle(self, signum, frame): raise TimeoutError(f"after {self.seconds}")
    def __enter__(self):
        self.old = signal.signal(signal.SIGALRM, self._handle)
        self.rest = signal.setitimer(signal.ITIMER_REAL, self.seconds)
        return self
    def __exit__(self, *exc):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.old)
def main(args):
    log = []
    try:
        with Timeout(0.5):
            with Timeout(0.05) as inner:
                time.sleep(3)
    except TimeoutError as error:
        log.append(str(error))
    log.append(0 < inner.rest[0] <= 0.5)
    log.append(signal.getitimer(signal.ITIMER_REAL))
    return log
