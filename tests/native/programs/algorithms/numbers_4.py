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
    answers.append(attempt(lambda: Decimal('-7') % 3))
    answers.append(attempt(lambda: Decimal(2)**Decimal('.5')))
    answers.append(attempt(lambda: Decimal(10).ln()))
    answers.append(attempt(lambda: Decimal(100).log10()))
    answers.append(attempt(lambda: Decimal('1E+3')))
    answers.append(attempt(lambda: str(Decimal('1E+3'))))
    answers.append(attempt(lambda: f"{Decimal('1234567.891'):,.2f}"))
    answers.append(attempt(lambda: Decimal('NaN')))
    answers.append(attempt(lambda: Decimal('Infinity')*-1))
    answers.append(attempt(lambda: Decimal('1').compare(Decimal('2'))))
    answers.append(attempt(lambda: Decimal('12.5').to_integral_value()))
    answers.append(attempt(lambda: Decimal('1.5').fma(2, 3)))
    answers.append(attempt(lambda: Decimal(7).exp()))
    answers.append(attempt(lambda: hash(Decimal('2')) == hash(2)))
    answers.append(attempt(lambda: Decimal('0.00001')))
    answers.append(attempt(lambda: Decimal('1e-10').to_eng_string()))
    answers.append(attempt(lambda: Decimal(3).max(5)))
    answers.append(attempt(lambda: getcontext().prec))
    answers.append(attempt(lambda: Decimal('5').adjusted()))
    answers.append(attempt(lambda: Decimal('1.5').as_integer_ratio()))
    answers.append(attempt(lambda: Decimal.from_float(1.1)))
    answers.append(attempt(lambda: Decimal(5).scaleb(3)))
    answers.append(attempt(lambda: Decimal(5).shift(2)))
    answers.append(attempt(lambda: Decimal(-5).copy_abs()))
    answers.append(attempt(lambda: round(Decimal('2.675'), 2)))
    answers.append(attempt(lambda: int(Decimal('-2.9'))))
    answers.append(attempt(lambda: math.floor(Decimal('-2.1'))))
    answers.append(attempt(lambda: sum([Decimal('.1')]*10)))
    answers.append(attempt(lambda: Decimal('1_000.5')))
    answers.append(attempt(lambda: Decimal(1)/0))
    answers.append(attempt(lambda: Decimal('x')))
    answers.append(attempt(lambda: Decimal(10)**Decimal(-500) * Decimal(10)**Decimal(-999999)))
    answers.append(attempt(lambda: F(1, 3) + F(1, 6)))
    answers.append(attempt(lambda: F('0.125')))
    answers.append(attempt(lambda: F(1.5)))
    answers.append(attempt(lambda: F(3, 4).limit_denominator(3)))
    answers.append(attempt(lambda: F(-7, 2) // 1))
    answers.append(attempt(lambda: F(7, 3) % 1))
    answers.append(attempt(lambda: F(2, 3)**-2))
    answers.append(attempt(lambda: float(F(1, 3))))
    return answers
