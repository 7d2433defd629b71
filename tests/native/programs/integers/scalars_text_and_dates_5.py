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
    answers.append(attempt(lambda: np.sinc([0,.5])))
    answers.append(attempt(lambda: np.i0([1,2])))
    answers.append(attempt(lambda: np.angle([1j])))
    answers.append(attempt(lambda: np.real_if_close([1+0j])))
    answers.append(attempt(lambda: np.nan_to_num([np.nan,np.inf])))
    answers.append(attempt(lambda: np.cbrt(27)))
    answers.append(attempt(lambda: np.hypot(3,4)))
    answers.append(attempt(lambda: np.deg2rad(180)))
    answers.append(attempt(lambda: np.ediff1d([1,5,2**40])))
    answers.append(attempt(lambda: np.cumsum([2**62,2**62])))
    answers.append(attempt(lambda: np.setdiff1d([1,2,3],[2])))
    answers.append(attempt(lambda: np.union1d([1],[2**40])))
    answers.append(attempt(lambda: np.tile([1,2],(2,2))))
    answers.append(attempt(lambda: np.repeat([1,2],[2,3])))
    answers.append(attempt(lambda: np.array_split(np.arange(7),3)))
    answers.append(attempt(lambda: np.block([[np.eye(2),np.ones((2,1))]])))
    answers.append(attempt(lambda: np.pad([1,2],(1,2),'reflect')))
    answers.append(attempt(lambda: np.rot90([[1,2],[3,4]])))
    answers.append(attempt(lambda: np.resize([1,2],5)))
    answers.append(attempt(lambda: np.sum([[2**40,1],[2,3]])))
    answers.append(attempt(lambda: np.sum([1,2**62,2**62])))
    answers.append(attempt(lambda: np.sum(np.array([200,100],dtype='u1'))))
    answers.append(attempt(lambda: np.sum([True]*5)))
    answers.append(attempt(lambda: np.sum(x for x in range(5))))
    answers.append(attempt(lambda: np.sum([.1]*10)))
    answers.append(attempt(lambda: np.mean(np.array([2**31-1]*4,dtype='i4'))))
    answers.append(attempt(lambda: np.prod(np.arange(1,21))))
    answers.append(attempt(lambda: np.prod(np.arange(1,26))))
    answers.append(attempt(lambda: np.add(2**31-1, 1)))
    return answers
