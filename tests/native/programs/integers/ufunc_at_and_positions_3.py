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
    a = np.zeros(5, dtype=int)
    np.add.at(a, [0,0,1,4,4,4], 10**10)
    np.multiply.at(a, [0,1], 3)
    np.subtract.at(a, slice(0,3), np.array([1,2,3]))
    b = np.zeros(5, dtype=np.uint8)
    np.add.at(b, [0]*300, 1)
    np.add.at(b, [1,1], 200)
    c = np.zeros((3,3))
    np.add.at(c, ([0,0,2],[1,1,2]), [0.1,0.2,0.3])
    np.maximum.at(c, ([0],[0]), 7)
    d = np.arange(6); np.negative.at(d, [1,1,2])
    e = np.ones(4, int); np.left_shift.at(e, [0,0,3], 20)
    np.power.at(e, [0], 2)
    g = np.zeros(4); np.logical_or.at(g.astype(bool), [1], True)
    h = np.zeros(3, int); np.add.at(h, np.argsort([3,1,2]), np.argsort([3,1,2]) * 10**10)
    p = np.argsort([3,1,2]); 
    answers.append(attempt(lambda: 10 ** np.argmax([0]*12 + [1])))
    answers.append(attempt(lambda: 2 ** np.bincount([1]*40)))
    answers.append(attempt(lambda: 2 ** np.count_nonzero(np.ones(40))))
    return answers
