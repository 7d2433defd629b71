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
    for dt in ['int8','uint8','int16','int32','uint32','int64','uint64']:
        x = np.array([0,1,2,3,5,100,127], dtype=dt)
        for s in [0,1,7,8,15,31,32,33,63,64,70]:
            pass
        y = np.array([-7,-5,-1,1,2,3,7]).astype(dt)
        pass
        answers.append(attempt(lambda: np.remainder(y, x)))
        answers.append(attempt(lambda: np.divmod(y, 3)))
        answers.append(attempt(lambda: np.gcd(x, y)))
        answers.append(attempt(lambda: np.lcm(x, y)))
        answers.append(attempt(lambda: np.power(x, 5)))
        answers.append(attempt(lambda: x ** np.array(3, dtype=dt)))
        pass
    return answers
