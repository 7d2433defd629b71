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
    answers.append(attempt(lambda: np.random.laplace(0,1,2)))
    answers.append(attempt(lambda: np.random.logistic(0,1,2)))
    answers.append(attempt(lambda: np.random.lognormal(0,1,2)))
    answers.append(attempt(lambda: np.random.logseries(.6,3)))
    answers.append(attempt(lambda: np.random.multivariate_normal([0,0],[[1,0],[0,1]],2)))
    answers.append(attempt(lambda: np.random.negative_binomial(4,.3,3)))
    answers.append(attempt(lambda: np.random.noncentral_chisquare(2,3,2)))
    answers.append(attempt(lambda: np.random.noncentral_f(2,3,4,2)))
    answers.append(attempt(lambda: np.random.normal(1,2,3)))
    answers.append(attempt(lambda: np.random.pareto(2,3)))
    answers.append(attempt(lambda: np.random.poisson(3,5)))
    answers.append(attempt(lambda: np.random.poisson(300,5)))
    answers.append(attempt(lambda: np.random.poisson(3e9,3)))
    answers.append(attempt(lambda: np.random.power(2,3)))
    answers.append(attempt(lambda: np.random.rayleigh(1,3)))
    answers.append(attempt(lambda: np.random.standard_cauchy(3)))
    answers.append(attempt(lambda: np.random.standard_exponential(3)))
    answers.append(attempt(lambda: np.random.standard_gamma(2,3)))
    answers.append(attempt(lambda: np.random.standard_normal(3)))
    answers.append(attempt(lambda: np.random.standard_t(2,3)))
    answers.append(attempt(lambda: np.random.triangular(1,2,3,3)))
    answers.append(attempt(lambda: np.random.uniform(1,2,3)))
    answers.append(attempt(lambda: np.random.vonmises(1,2,3)))
    answers.append(attempt(lambda: np.random.wald(1,2,3)))
    answers.append(attempt(lambda: np.random.weibull(2,3)))
    answers.append(attempt(lambda: np.random.zipf(2,3)))
    answers.append(attempt(lambda: np.random.zipf(1.1,3)))
    answers.append(attempt(lambda: np.random.bytes(5)))
    answers.append(attempt(lambda: np.random.tomaxint(2)))
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
