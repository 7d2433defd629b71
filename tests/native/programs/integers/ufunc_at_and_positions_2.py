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
    answers.append(attempt(lambda: np.unique([1,1,2], return_inverse=True)[1] * 2**40))
    answers.append(attempt(lambda: np.unique([1,1,2], return_index=True)[1] * 2**40))
    answers.append(attempt(lambda: np.digitize([1,5],[2]) * 2**40))
    answers.append(attempt(lambda: np.histogram([1,5],2)[0] * 2**40))
    answers.append(attempt(lambda: np.histogram([1,5],2)[0].dtype))
    answers.append(attempt(lambda: np.cumsum(np.histogram([1,5],2)[0])))
    answers.append(attempt(lambda: np.bincount([1,5]) * 2**40))
    answers.append(attempt(lambda: -np.bincount([1,5]) * 2**33))
    answers.append(attempt(lambda: np.bincount([1,5]) / 3))
    answers.append(attempt(lambda: np.bincount([1,5]) ** 40))
    answers.append(attempt(lambda: np.add.accumulate(np.bincount([1,5]) * 2**30)))
    answers.append(attempt(lambda: np.outer(np.bincount([1,5])*2**30, np.bincount([1,5]))))
    answers.append(attempt(lambda: np.bincount([1,5]).astype('int64') << 40))
    answers.append(attempt(lambda: np.where([True, False, True])[0].astype(np.int64)*2**40))
    answers.append(attempt(lambda: np.arange(3)[np.argsort([3,2,1])] * 2**40))
    answers.append(attempt(lambda: np.column_stack([np.argsort([3,2,1]), np.array([1,2,3])])))
    answers.append(attempt(lambda: np.concatenate([np.argsort([3,2,1]), np.array([2**40])])))
    answers.append(attempt(lambda: np.argsort([3,2,1]).reshape(3,1) * np.array([2**40, 1])))
    answers.append(attempt(lambda: np.full(3, np.argmax([1,2])) * 2**40))
    answers.append(attempt(lambda: np.array([np.argmax([1,2]), np.argmin([1,2])]) * 2**40))
    answers.append(attempt(lambda: np.array([np.argmax([1,2]), 2**40])))
    answers.append(attempt(lambda: np.zeros(3, dtype=int) + np.argsort([3,2,1])*2**32))
    answers.append(attempt(lambda: sum(np.bincount([1,1,5])) * 2**40))
    answers.append(attempt(lambda: sum(np.bincount([1,1,5]) * 2**40)))
    answers.append(attempt(lambda: max(np.bincount([1,1,5])) * 2**40))
    answers.append(attempt(lambda: np.insert([1,2,3], 1, 2**40)))
    answers.append(attempt(lambda: np.append(np.argsort([2,1]), 2**40)))
    answers.append(attempt(lambda: np.mean(np.argsort([3,2,1]))))
    answers.append(attempt(lambda: np.var(np.bincount([1,1,5])*2**20)))
    answers.append(attempt(lambda: np.power(10, np.arange(15))))
    answers.append(attempt(lambda: np.power(np.int64(10), 15)))
    answers.append(attempt(lambda: 10 ** np.arange(19)))
    answers.append(attempt(lambda: 2 ** np.arange(63)))
    answers.append(attempt(lambda: np.int64(2) ** 62))
    answers.append(attempt(lambda: np.uint64(2) ** 63))
    answers.append(attempt(lambda: 3 ** np.argsort([5,4,30,2])))
    return answers
