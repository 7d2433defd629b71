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
    for bg in [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM]:
        g = np.random.Generator(bg(12345))
        pass
        answers.append(attempt(lambda: g.logistic(0, 1, 3)))
        answers.append(attempt(lambda: g.lognormal(0, 1, 3)))
        answers.append(attempt(lambda: g.logseries(.5, 5)))
        answers.append(attempt(lambda: g.logseries(.999999, 5)))
        answers.append(attempt(lambda: g.multinomial(20, [.2,.3,.5], 2)))
        pass
        x = np.arange(20); g.shuffle(x)
        pass
        y = list(range(10)); g.shuffle(y)
        pass
    return answers
