import numpy as np
def main(args):
    n = np.int_(10) ** 15
    return [int(n), int(np.int64(3) ** 30), int(np.sum([2**31, 2**31])), type(np.int_(1)).__name__]
