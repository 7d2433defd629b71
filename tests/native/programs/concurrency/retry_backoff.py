import time
def main(args):
    n = 0
    for i in range(3):
        try:
            n += 1
            if n < 3: raise IOError("again")
            return n
        except IOError:
            time.sleep(0.001 * 2 ** i)
