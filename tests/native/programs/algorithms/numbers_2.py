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
    answers.append(attempt(lambda: 0.1+0.2))
    answers.append(attempt(lambda: 1e16+1))
    answers.append(attempt(lambda: 5e-324/2))
    answers.append(attempt(lambda: math.factorial(30)))
    answers.append(attempt(lambda: math.comb(60, 30)))
    answers.append(attempt(lambda: math.perm(10, 4)))
    answers.append(attempt(lambda: math.gcd(12, 18, 27)))
    answers.append(attempt(lambda: math.lcm(4, 6, 2**40)))
    answers.append(attempt(lambda: math.isqrt(10**40)))
    answers.append(attempt(lambda: math.prod(range(1, 25))))
    answers.append(attempt(lambda: math.fsum([.1]*10)))
    answers.append(attempt(lambda: math.hypot(3, 4, 12)))
    answers.append(attempt(lambda: math.dist([1, 2], [4, 6])))
    answers.append(attempt(lambda: math.floor(-2.5)))
    answers.append(attempt(lambda: math.ceil(2.1)))
    answers.append(attempt(lambda: math.trunc(-2.7)))
    answers.append(attempt(lambda: math.fmod(-7, 3)))
    answers.append(attempt(lambda: math.remainder(7, 4)))
    answers.append(attempt(lambda: math.modf(-2.5)))
    answers.append(attempt(lambda: math.frexp(10)))
    answers.append(attempt(lambda: math.ldexp(.5, 10)))
    answers.append(attempt(lambda: math.ulp(1)))
    answers.append(attempt(lambda: math.nextafter(1, 2)))
    answers.append(attempt(lambda: math.nextafter(1, 2, steps=5)))
    answers.append(attempt(lambda: math.copysign(1, -0.0)))
    answers.append(attempt(lambda: math.log(10**400)))
    answers.append(attempt(lambda: math.log2(2**100)))
    answers.append(attempt(lambda: math.log10(1000)))
    answers.append(attempt(lambda: math.log1p(1e-10)))
    answers.append(attempt(lambda: math.expm1(1e-10)))
    answers.append(attempt(lambda: math.erf(.5)))
    answers.append(attempt(lambda: math.gamma(5.5)))
    answers.append(attempt(lambda: math.lgamma(100)))
    answers.append(attempt(lambda: math.isclose(1, 1+1e-10)))
    answers.append(attempt(lambda: math.sumprod([1, 2], [3, 4])))
    answers.append(attempt(lambda: math.cbrt(27)))
    answers.append(attempt(lambda: math.exp2(10)))
    answers.append(attempt(lambda: math.fma(2., 3., 4.)))
    answers.append(attempt(lambda: math.atan2(-1, -1)))
    answers.append(attempt(lambda: math.degrees(math.pi)))
    return answers
