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
    answers.append(attempt(lambda: bin(-5)))
    answers.append(attempt(lambda: chr(0x1F600)))
    answers.append(attempt(lambda: ord('é')))
    answers.append(attempt(lambda: ascii('é')))
    answers.append(attempt(lambda: repr('\x00\n\u200b')))
    answers.append(attempt(lambda: format(1234567.891, ',.2f')))
    answers.append(attempt(lambda: format(255, '#010x')))
    answers.append(attempt(lambda: format(.00012345, 'g')))
    answers.append(attempt(lambda: format(1e10, 'n')))
    answers.append(attempt(lambda: format(True, 'd')))
    answers.append(attempt(lambda: format('x', '*^5')))
    answers.append(attempt(lambda: format(-3, '=+5d')))
    answers.append(attempt(lambda: format(1.5, '.0%')))
    answers.append(attempt(lambda: format(1+2j, '.1f')))
    answers.append(attempt(lambda: '%05d|%-5s|%+.2e|%x|%r|%%' % (42, 'a', 1234.5, 255, 'q')))
    answers.append(attempt(lambda: '{:>{w}}'.format('x', w=4)))
    answers.append(attempt(lambda: '{0[a]} {1.real}'.format({'a': 1}, 3)))
    answers.append(attempt(lambda: f"{3.14159:.2f} {10:b} {'é'!a} {1_000_000:_}"))
    answers.append(attempt(lambda: f"{1/3=:.3f}"))
    answers.append(attempt(lambda: list(zip([1], [1, 2], strict=True))))
    answers.append(attempt(lambda: [1, 2][5]))
    answers.append(attempt(lambda: {}['k']))
    answers.append(attempt(lambda: 'a' + 1))
    answers.append(attempt(lambda: None.foo))
    answers.append(attempt(lambda: int('9' * 5000)))
    answers.append(attempt(lambda: range(10)[2:8:3]))
    answers.append(attempt(lambda: range(10**12)[10**11]))
    answers.append(attempt(lambda: len(range(0, 10**9, 7))))
    answers.append(attempt(lambda: 5 in range(0, 10**15, 5)))
    answers.append(attempt(lambda: range(5) == range(0, 5, 1)))
    answers.append(attempt(lambda: slice(1, None, 2).indices(10)))
    answers.append(attempt(lambda: hash(range(5)) is not None))
    answers.append(attempt(lambda: range(10**20).index(10**19)))
    answers.append(attempt(lambda: range(10**18).count(3)))
    answers.append(attempt(lambda: hash(1)))
    answers.append(attempt(lambda: hash(-1)))
    answers.append(attempt(lambda: hash(True)))
    answers.append(attempt(lambda: hash('')))
    return answers
