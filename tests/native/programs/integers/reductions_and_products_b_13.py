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
    rng = np.random.default_rng(5)
    a = rng.integers(-10**12, 10**12, size=(4, 5, 6))
    b = rng.integers(0, 255, size=(4, 5), dtype=np.uint8)
    f = rng.normal(size=(4,5))
    for ax in [None, 0, 1, -1]:
        pass
    answers.append(attempt(lambda: np.cross([1,2,3],[4,5,2**33])))
    answers.append(attempt(lambda: np.vdot(b, b)))
    answers.append(attempt(lambda: np.convolve(b[0], b[1])))
    answers.append(attempt(lambda: np.convolve(np.arange(5)*10**6, np.arange(5)*10**6)))
    answers.append(attempt(lambda: np.correlate(np.arange(5)*10**6, np.arange(3)*10**6, 'full')))
    return answers
