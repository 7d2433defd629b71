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
    answers.append(attempt(lambda: a))
    np.multiply.at(a, [0,1], 3)
    answers.append(attempt(lambda: a))
    np.subtract.at(a, slice(0,3), np.array([1,2,3]))
    answers.append(attempt(lambda: a))
    b = np.zeros(5, dtype=np.uint8)
    np.add.at(b, [0]*300, 1)
    answers.append(attempt(lambda: b))
    np.add.at(b, [1,1], 200)
    answers.append(attempt(lambda: b))
    c = np.zeros((3,3))
    np.add.at(c, ([0,0,2],[1,1,2]), [0.1,0.2,0.3])
    answers.append(attempt(lambda: c))
    np.maximum.at(c, ([0],[0]), 7)
    answers.append(attempt(lambda: c))
    d = np.arange(6); np.negative.at(d, [1,1,2])
    answers.append(attempt(lambda: d))
    e = np.ones(4, int); np.left_shift.at(e, [0,0,3], 20)
    answers.append(attempt(lambda: e))
    np.power.at(e, [0], 2)
    answers.append(attempt(lambda: e))
    g = np.zeros(4); np.logical_or.at(g.astype(bool), [1], True)
    answers.append(attempt(lambda: g))
    h = np.zeros(3, int); np.add.at(h, np.argsort([3,1,2]), np.argsort([3,1,2]) * 10**10)
    answers.append(attempt(lambda: h))
    p = np.argsort([3,1,2]); 
    answers.append(attempt(lambda: p * 10**10))
    answers.append(attempt(lambda: p.sum()))
    answers.append(attempt(lambda: p.mean()))
    answers.append(attempt(lambda: p.cumsum()))
    answers.append(attempt(lambda: p.dot(p)))
    answers.append(attempt(lambda: p @ p))
    answers.append(attempt(lambda: p ** 20))
    answers.append(attempt(lambda: (p + 1).prod()))
    answers.append(attempt(lambda: p << 31))
    answers.append(attempt(lambda: p * np.array([2**31, 2**33, 1])))
    answers.append(attempt(lambda: np.multiply(p, 2**31)))
    answers.append(attempt(lambda: p.astype(float) * 1e10))
    answers.append(attempt(lambda: p.tolist()))
    answers.append(attempt(lambda: p[0] * 10**10))
    answers.append(attempt(lambda: int(p[0]) * 10**10))
    answers.append(attempt(lambda: p[0].item() ** 50))
    answers.append(attempt(lambda: p.max() * 3_000_000_000))
    answers.append(attempt(lambda: len(p) * 3_000_000_000))
    answers.append(attempt(lambda: np.size(p) * 2**31))
    answers.append(attempt(lambda: np.prod(np.zeros((70000, 2)).shape) * 70000))
    answers.append(attempt(lambda: np.prod([70000, 70000])))
    answers.append(attempt(lambda: np.array(np.zeros((70000,2)).shape).prod() * 70000))
    answers.append(attempt(lambda: np.argmax([1,5,2]) * 2**40))
    answers.append(attempt(lambda: np.searchsorted([1,2,3], 3) * 2**40))
    answers.append(attempt(lambda: np.count_nonzero([1,1]) * 2**40))
    answers.append(attempt(lambda: np.nonzero([0,1,1])[0] * 2**40))
    answers.append(attempt(lambda: np.unique([1,1,2], return_counts=True)[1] * 2**40))
    return answers
