# script
import signal
def handler(signum, frame):
    raise TimeoutError("Function execution timed out")
signal.signal(signal.SIGALRM, handler)
signal.alarm(1)
print("begin")
while True:
    pass
