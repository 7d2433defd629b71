import threading, time
def main(args):
    fired = []
    timer = threading.Timer(0.05, fired.append, ["late"])
    timer.start()
    time.sleep(0.2)
    other = threading.Timer(5, fired.append, ["never"])
    other.start(); other.cancel()
    timer.join()
    return fired
