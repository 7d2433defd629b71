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
    answers.append(attempt(lambda: sys.implementation.name))
    answers.append(attempt(lambda: sys.int_info.default_max_str_digits))
    answers.append(attempt(lambda: sys.getdefaultencoding()))
    answers.append(attempt(lambda: sys.getfilesystemencoding()))
    answers.append(attempt(lambda: sys.float_repr_style))
    answers.append(attempt(lambda: sys.hexversion > 0))
    answers.append(attempt(lambda: sys.intern('a')))
    answers.append(attempt(lambda: sys.exc_info()))
    answers.append(attempt(lambda: sys.getswitchinterval()))
    answers.append(attempt(lambda: sys.api_version))
    answers.append(attempt(lambda: len(sys.argv)))
    answers.append(attempt(lambda: sys.stdout.encoding))
    answers.append(attempt(lambda: sys.warnoptions))
    answers.append(attempt(lambda: sys.is_finalizing()))
    answers.append(attempt(lambda: 'os' in sys.modules))
    answers.append(attempt(lambda: sys.thread_info.name))
    answers.append(attempt(lambda: sorted([3, 1.5, True])))
    answers.append(attempt(lambda: max([], default=0)))
    answers.append(attempt(lambda: sum([[1], [2]], [])))
    answers.append(attempt(lambda: min('b', 'a')))
    answers.append(attempt(lambda: list(zip([1, 2], 'ab', strict=True))))
    answers.append(attempt(lambda: list(map(pow, [2, 3], [3, 2]))))
    answers.append(attempt(lambda: any([])))
    answers.append(attempt(lambda: all([])))
    answers.append(attempt(lambda: list(reversed(range(5)))))
    answers.append(attempt(lambda: sorted('bca', reverse=True)))
    answers.append(attempt(lambda: list(enumerate('ab', 1))))
    answers.append(attempt(lambda: dict(a=1) | {'b': 2}))
    answers.append(attempt(lambda: {1, 2} ^ {2, 3}))
    answers.append(attempt(lambda: [1, 2] * 2))
    answers.append(attempt(lambda: (1, 2) < (1, 3)))
    answers.append(attempt(lambda: 'a' 'b'))
    answers.append(attempt(lambda: hex(-255)))
    answers.append(attempt(lambda: oct(8)))
    return answers
