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
    answers.append(attempt(lambda: 7 // -2))
    answers.append(attempt(lambda: -7 // 2))
    answers.append(attempt(lambda: -7 % 3))
    answers.append(attempt(lambda: 7 % -3))
    answers.append(attempt(lambda: divmod(-7, 2)))
    answers.append(attempt(lambda: divmod(7.5, -2)))
    answers.append(attempt(lambda: -7.5 // 2))
    answers.append(attempt(lambda: 2 ** -1))
    answers.append(attempt(lambda: (-8) ** (1/3)))
    answers.append(attempt(lambda: 0 ** 0))
    answers.append(attempt(lambda: pow(3, -1, 11)))
    answers.append(attempt(lambda: pow(2, 1000, 97)))
    answers.append(attempt(lambda: 1 << 100))
    answers.append(attempt(lambda: -1 >> 5))
    answers.append(attempt(lambda: ~5))
    answers.append(attempt(lambda: 5 & -3))
    answers.append(attempt(lambda: 5 ^ -3))
    answers.append(attempt(lambda: int('ff', 16)))
    answers.append(attempt(lambda: int('0b101', 0)))
    answers.append(attempt(lambda: int('-1_000')))
    answers.append(attempt(lambda: int(1e20)))
    answers.append(attempt(lambda: int(-1.9)))
    answers.append(attempt(lambda: round(2.5)))
    answers.append(attempt(lambda: round(-3.5)))
    answers.append(attempt(lambda: round(1234, -2)))
    answers.append(attempt(lambda: round(2.675, 2)))
    answers.append(attempt(lambda: round(1e300, -299)))
    answers.append(attempt(lambda: int.from_bytes(b'\xff\xfe', 'big', signed=True)))
    answers.append(attempt(lambda: (2**70).to_bytes(9, 'little')))
    answers.append(attempt(lambda: (255).bit_length()))
    answers.append(attempt(lambda: (-5).bit_count()))
    answers.append(attempt(lambda: (10**30).bit_length()))
    answers.append(attempt(lambda: int.from_bytes(b'abc')))
    answers.append(attempt(lambda: (3).as_integer_ratio()))
    answers.append(attempt(lambda: (0.1).as_integer_ratio()))
    answers.append(attempt(lambda: (0.1).hex()))
    answers.append(attempt(lambda: float.fromhex('0x1.8p3')))
    answers.append(attempt(lambda: float('1e-400')))
    answers.append(attempt(lambda: float('inf') - float('inf')))
    answers.append(attempt(lambda: 1e308*10))
    return answers
