import os, signal
count = 0
def handler(signum, frame):
    global count
    count += 1
def main(args):
    signal.signal(signal.SIGUSR1, handler)
    for _ in range(3):
        os.kill(os.getpid(), signal.SIGUSR1)
    return count
