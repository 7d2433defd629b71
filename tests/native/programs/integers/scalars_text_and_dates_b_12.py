import numpy as np


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
    s = np.array(['apple','Banana','cherry pie'])
    d = np.array(['2024-02-28','2024-02-29','1969-12-31'], dtype='M8[D]')
    answers.append(attempt(lambda: np.sum([True]*5)))
    answers.append(attempt(lambda: np.sum(x for x in range(5))))
    answers.append(attempt(lambda: np.sum([.1]*10)))
    answers.append(attempt(lambda: np.mean(np.array([2**31-1]*4,dtype='i4'))))
    answers.append(attempt(lambda: np.prod(np.arange(1,21))))
    answers.append(attempt(lambda: np.prod(np.arange(1,26))))
    answers.append(attempt(lambda: np.add(2**31-1, 1)))
    answers.append(attempt(lambda: np.multiply(65536, 65536)))
    answers.append(attempt(lambda: np.subtract(-2**31, 1)))
    answers.append(attempt(lambda: np.add(np.int32(2**31-1), 1)))
    answers.append(attempt(lambda: np.abs(-2**31)))
    answers.append(attempt(lambda: np.negative(-2**31)))
    answers.append(attempt(lambda: np.square(70000)))
    return answers
