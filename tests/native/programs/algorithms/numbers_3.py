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
    answers.append(attempt(lambda: math.sinh(1)))
    answers.append(attempt(lambda: math.acosh(2)))
    answers.append(attempt(lambda: math.sin(1e22)))
    answers.append(attempt(lambda: math.cos(1e15)))
    answers.append(attempt(lambda: math.tan(1.5707963267948966)))
    answers.append(attempt(lambda: math.exp(709.7)))
    answers.append(attempt(lambda: math.pow(2, .5)))
    answers.append(attempt(lambda: math.sqrt(-1)))
    answers.append(attempt(lambda: math.log(0)))
    answers.append(attempt(lambda: math.exp(1000)))
    answers.append(attempt(lambda: math.factorial(-1)))
    answers.append(attempt(lambda: math.factorial(1.5)))
    answers.append(attempt(lambda: 1/0))
    answers.append(attempt(lambda: 1 % 0))
    answers.append(attempt(lambda: 2.0 ** 2000))
    answers.append(attempt(lambda: 10 ** 400 * 1.0))
    answers.append(attempt(lambda: int('x')))
    answers.append(attempt(lambda: float('abc')))
    answers.append(attempt(lambda: int(float('nan'))))
    answers.append(attempt(lambda: cmath.sqrt(-1)))
    answers.append(attempt(lambda: cmath.exp(1j*math.pi)))
    answers.append(attempt(lambda: cmath.polar(1+1j)))
    answers.append(attempt(lambda: cmath.rect(2, 1)))
    answers.append(attempt(lambda: cmath.phase(-1)))
    answers.append(attempt(lambda: complex('1+2j')))
    answers.append(attempt(lambda: (1+2j)**3))
    answers.append(attempt(lambda: abs(3+4j)))
    answers.append(attempt(lambda: (1+2j).conjugate()))
    answers.append(attempt(lambda: 1j**2))
    answers.append(attempt(lambda: complex(1, -0.0)))
    answers.append(attempt(lambda: Decimal('0.1') + Decimal('0.2')))
    answers.append(attempt(lambda: Decimal(1)/3))
    answers.append(attempt(lambda: Decimal('1.23456789').quantize(Decimal('.01'))))
    answers.append(attempt(lambda: Decimal('2.675').quantize(Decimal('.01'), ROUND_HALF_UP)))
    answers.append(attempt(lambda: Decimal(2).sqrt()))
    answers.append(attempt(lambda: Decimal('1e400')))
    answers.append(attempt(lambda: Decimal(0.1)))
    answers.append(attempt(lambda: Decimal('123.456').as_tuple()))
    answers.append(attempt(lambda: Decimal('1.10').normalize()))
    answers.append(attempt(lambda: Decimal('-7') // 2))
    return answers
