import numpy as np
import random


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
    np.random.seed(7)
    r = np.random.RandomState(3)
    x = np.arange(10); r.shuffle(x)
    random.seed(5)
    l = list(range(20)); random.shuffle(l)
    random.seed("text")
    random.seed(b"bytes")
    random.seed(2.5)
    random.seed(-7)
    answers.append(attempt(lambda: random.random()))
    random.seed(2**80)
    answers.append(attempt(lambda: random.random()))
    answers.append(attempt(lambda: random.getstate()[1][:3]))
    return answers
