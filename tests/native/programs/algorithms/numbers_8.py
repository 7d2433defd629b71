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
    answers.append(attempt(lambda: hash(0.0)))
    answers.append(attempt(lambda: hash(10**6)))
    answers.append(attempt(lambda: hash(float('inf'))))
    answers.append(attempt(lambda: hash(None) is not None))
    answers.append(attempt(lambda: hash(3+0j)))
    answers.append(attempt(lambda: [*{5, 3, 1, 100, 50}]))
    answers.append(attempt(lambda: [*{'x'}]))
    answers.append(attempt(lambda: [*frozenset(range(20, 0, -1))]))
    answers.append(attempt(lambda: list({10**6, 5, 10**3})))
    answers.append(attempt(lambda: list({1.5, 2.5, 0.5}) ))
    answers.append(attempt(lambda: list({2**31, 2**33, 5})))
    return answers
