import math
import numpy as np
def main(args):
    return [math.comb(60, 30), math.perm(20, 10), int(np.array([math.comb(40, k) for k in range(41)]).sum()), math.factorial(25)]
