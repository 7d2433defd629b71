import math, cmath, decimal, fractions, statistics, sys
from decimal import *
from fractions import Fraction as F


def shown(value):
    """A value as JSON can express it, with its type."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return [str(value.dtype), shown(value.tolist())]
    if isinstance(value, dict):
        return [[shown(key), shown(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if type(value).__module__.startswith("pandas") and hasattr(value, "to_csv"):
        return value.to_csv()
    return str(value)


def attempt(action):
    try:
        return shown(action())
    except Exception as error:
        return type(error).__name__


def main(args):
    answers = []
    answers.append(attempt(lambda: round(F(5, 2))))
    answers.append(attempt(lambda: F('1/3') < .34))
    answers.append(attempt(lambda: f"{F(1, 3):.3f}"))
    answers.append(attempt(lambda: F(10, 4)))
    answers.append(attempt(lambda: str(F(3, 1))))
    answers.append(attempt(lambda: math.floor(F(-1, 2))))
    answers.append(attempt(lambda: F(1, 3).as_integer_ratio()))
    answers.append(attempt(lambda: F(math.pi).limit_denominator(1000)))
    answers.append(attempt(lambda: F(1, 0)))
    answers.append(attempt(lambda: statistics.mean([1, 2, 3, 4])))
    answers.append(attempt(lambda: statistics.median([1, 3, 2])))
    answers.append(attempt(lambda: statistics.mode('aab')))
    answers.append(attempt(lambda: statistics.stdev([1, 2, 3, 4])))
    answers.append(attempt(lambda: statistics.pvariance([1, 2])))
    answers.append(attempt(lambda: statistics.quantiles(range(10), n=4)))
    answers.append(attempt(lambda: statistics.geometric_mean([1, 2, 4])))
    answers.append(attempt(lambda: statistics.harmonic_mean([40, 60])))
    answers.append(attempt(lambda: statistics.fmean([1, 2], [3, 1])))
    answers.append(attempt(lambda: statistics.multimode([1, 1, 2, 2])))
    answers.append(attempt(lambda: statistics.linear_regression([1, 2, 3], [2, 4, 7])))
    answers.append(attempt(lambda: statistics.correlation([1, 2, 3], [1, 5, 2])))
    answers.append(attempt(lambda: statistics.NormalDist(10, 2).cdf(12)))
    answers.append(attempt(lambda: statistics.NormalDist(0, 1).inv_cdf(.975)))
    answers.append(attempt(lambda: statistics.NormalDist.from_samples([1, 2, 3])))
    answers.append(attempt(lambda: statistics.median_grouped([1, 2, 2, 3])))
    answers.append(attempt(lambda: statistics.mean([F(1, 3), F(1, 2)])))
    answers.append(attempt(lambda: statistics.mean([Decimal('1.1'), Decimal('2.2')])))
    answers.append(attempt(lambda: statistics.covariance([1, 2], [3, 5])))
    answers.append(attempt(lambda: statistics.kde([1, 2, 3], h=1)(2)))
    answers.append(attempt(lambda: statistics.NormalDist(0, 1).samples(3, seed=1)))
    answers.append(attempt(lambda: statistics.NormalDist(1, 2).overlap(statistics.NormalDist(2, 2))))
    answers.append(attempt(lambda: statistics.mean([])))
    answers.append(attempt(lambda: sys.maxsize))
    answers.append(attempt(lambda: sys.float_info.max))
    answers.append(attempt(lambda: sys.float_info.dig))
    answers.append(attempt(lambda: sys.int_info.bits_per_digit))
    answers.append(attempt(lambda: sys.byteorder))
    answers.append(attempt(lambda: sys.maxunicode))
    answers.append(attempt(lambda: sys.getrecursionlimit()))
    answers.append(attempt(lambda: sys.flags.optimize))
    return answers
