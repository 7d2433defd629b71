import math

import numpy as np
import pandas as pd


def main(args):
    f = np.cumprod(np.arange(1, 21))
    over = np.cumprod(np.arange(1, 23))
    s = pd.Series(range(1, 30))
    return {
        "f": f.tolist(), "over": over.tolist()[-2:],
        "pandas": s.cumprod().tolist()[18:22],
        "prod": int(s.head(20).prod()),
        "comb": math.comb(60, 30), "perm": math.perm(25, 12),
        "fact": str(math.factorial(40)), "isqrt": math.isqrt(10**40 + 1),
        "lcm": math.lcm(*range(1, 40)), "gcd": math.gcd(2**64 - 1, 2**48 - 1),
        "npgcd": int(np.gcd(6 * 10**12, 9 * 10**12)), "nplcm": int(np.lcm(123456789, 987654321)),
    }
