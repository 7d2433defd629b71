import signal, time, traceback
def main(args):
    def handler(signum, frame):
        raise TimeoutError("late")
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        time.sleep(10)
    except TimeoutError as error:
        return str(error), traceback.extract_tb(error.__traceback__)[-1].name
