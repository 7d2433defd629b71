import numpy as np
def main(args):
    a = np.array([1, 5, 9, 2])
    return [int(np.argmax(a) * 10**10), int(a.argmin() + 2**40), int(np.argsort(a)[-1] * 3_000_000_000)]
