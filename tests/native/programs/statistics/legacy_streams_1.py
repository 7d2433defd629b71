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
    answers.append(attempt(lambda: np.random.rand(3)))
    answers.append(attempt(lambda: np.random.randn(3)))
    answers.append(attempt(lambda: np.random.randint(10, size=5)))
    answers.append(attempt(lambda: np.random.randint(0, 2**31-1, 3)))
    answers.append(attempt(lambda: np.random.randint(0, 2**33, 3)))
    answers.append(attempt(lambda: np.random.randint(0, 2**62, 3)))
    answers.append(attempt(lambda: np.random.randint(-5, 5, (2,3), dtype=np.int8)))
    answers.append(attempt(lambda: np.random.randint(0, 2**32, 3, dtype=np.uint32)))
    answers.append(attempt(lambda: np.random.randint(0, 2**64-1, 3, dtype=np.uint64)))
    answers.append(attempt(lambda: np.random.randint(0, 2, 5, dtype=bool)))
    answers.append(attempt(lambda: np.random.randint([1,2],[10,2**34])))
    answers.append(attempt(lambda: np.random.randint(5)))
    answers.append(attempt(lambda: type(np.random.randint(5)).__name__))
    answers.append(attempt(lambda: np.random.random_sample(2)))
    answers.append(attempt(lambda: np.random.choice(10, 3, replace=False)))
    answers.append(attempt(lambda: np.random.choice(['a','b'], 5, p=[.3,.7])))
    answers.append(attempt(lambda: np.random.permutation(8)))
    answers.append(attempt(lambda: np.random.beta(2,3,2)))
    answers.append(attempt(lambda: np.random.chisquare(2,3)))
    answers.append(attempt(lambda: np.random.dirichlet([1,2],2)))
    answers.append(attempt(lambda: np.random.exponential(1,3)))
    answers.append(attempt(lambda: np.random.f(2,3,3)))
    answers.append(attempt(lambda: np.random.gamma(2,3,3)))
    answers.append(attempt(lambda: np.random.geometric(.1,3)))
    answers.append(attempt(lambda: np.random.gumbel(0,1,2)))
    answers.append(attempt(lambda: np.random.hypergeometric(5,6,7,3)))
    answers.append(attempt(lambda: np.random.hypergeometric(500,600,70,3)))
    r = np.random.RandomState(3)
    x = np.arange(10); r.shuffle(x)
    random.seed(5)
    l = list(range(20)); random.shuffle(l)
    random.seed("text")
    random.seed(b"bytes")
    random.seed(2.5)
    random.seed(-7)
    random.seed(2**80)
    return answers
