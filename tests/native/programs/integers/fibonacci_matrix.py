from functools import reduce

import numpy as np


def fib(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def main(args):
    m = np.array([[1, 1], [1, 0]], dtype=object)
    big = np.linalg.matrix_power(m, 300)[0][1]
    small = np.linalg.matrix_power(np.array([[1, 1], [1, 0]]), 90)[0, 1]
    obj = np.array([10**30, 2 * 10**30])
    return {"big": str(big), "same": big == fib(300), "small": int(small), "same2": int(small) == fib(90), "obj": [str(v) for v in obj * 3],
            "dtype": str(obj.dtype), "digits": len(str(fib(20000))) , "red": reduce(lambda a, b: a * 31 + b, range(20))}
