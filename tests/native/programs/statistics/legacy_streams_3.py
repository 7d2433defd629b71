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
    answers.append(attempt(lambda: np.random.get_state()[1][:3]))
    answers.append(attempt(lambda: np.random.get_state()[2:]))
    r = np.random.RandomState(3)
    answers.append(attempt(lambda: r.randint(1, 7, 10).sum() * 10**9))
    answers.append(attempt(lambda: r.randint(0, 100, 5) * 10**9))
    answers.append(attempt(lambda: r.binomial(10, .5, 5) * 10**9))
    answers.append(attempt(lambda: r.poisson(10, 5) * 10**9))
    answers.append(attempt(lambda: r.tomaxint()))
    answers.append(attempt(lambda: r.randint(2**31)))
    x = np.arange(10); r.shuffle(x)
    answers.append(attempt(lambda: x))
    random.seed(5)
    answers.append(attempt(lambda: random.random()))
    answers.append(attempt(lambda: random.randint(1,10**20)))
    answers.append(attempt(lambda: random.getrandbits(100)))
    answers.append(attempt(lambda: random.sample(range(1000),5)))
    answers.append(attempt(lambda: random.choices('abc', weights=[1,2,3], k=5)))
    answers.append(attempt(lambda: random.gauss(0,1)))
    answers.append(attempt(lambda: random.normalvariate(0,1)))
    answers.append(attempt(lambda: random.betavariate(1,2)))
    answers.append(attempt(lambda: random.expovariate(2)))
    answers.append(attempt(lambda: random.gammavariate(2,3)))
    answers.append(attempt(lambda: random.triangular()))
    answers.append(attempt(lambda: random.vonmisesvariate(1,2)))
    answers.append(attempt(lambda: random.weibullvariate(1,2)))
    answers.append(attempt(lambda: random.paretovariate(2)))
    answers.append(attempt(lambda: random.lognormvariate(0,1)))
    answers.append(attempt(lambda: random.binomialvariate(100,.3)))
    l = list(range(20)); random.shuffle(l)
    answers.append(attempt(lambda: l))
    answers.append(attempt(lambda: random.randbytes(8)))
    random.seed("text")
    answers.append(attempt(lambda: random.random()))
    random.seed(b"bytes")
    answers.append(attempt(lambda: random.random()))
    random.seed(2.5)
    answers.append(attempt(lambda: random.random()))
    random.seed(-7)
    random.seed(2**80)
    return answers
