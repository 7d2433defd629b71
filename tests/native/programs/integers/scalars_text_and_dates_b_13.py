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
    answers.append(attempt(lambda: np.power(10, 10)))
    answers.append(attempt(lambda: np.left_shift(1, 40)))
    answers.append(attempt(lambda: np.floor_divide(-2**40, 3)))
    answers.append(attempt(lambda: np.mod(-2**40, 7)))
    answers.append(attempt(lambda: np.maximum(2**40, 1)))
    answers.append(attempt(lambda: np.power(2, -1)))
    answers.append(attempt(lambda: np.array([2])**-1))
    answers.append(attempt(lambda: np.matrix([[1,2],[3,2**40]]) * np.matrix([[1,0],[0,1]])))
    answers.append(attempt(lambda: np.random.default_rng(0).integers(0,100,10).reshape(2,5).sum(axis=1)*10**9))
    answers.append(attempt(lambda: np.isin(np.arange(3)*2**33, [2**33])))
    answers.append(attempt(lambda: np.in1d if hasattr(np,'in1d') else 0))
    answers.append(attempt(lambda: np.rint([.5,1.5,2.5])))
    answers.append(attempt(lambda: np.round([2.675,-1.5],2)))
    return answers
