import sympy as S


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
    x, y, z, n = S.symbols("x y z n")
    k = S.symbols("k", integer=True, positive=True)
    f = S.Function("f")
    answers.append(attempt(lambda: S.integrate(S.exp(-(x**2)), (x, -S.oo, S.oo))))
    answers.append(attempt(lambda: S.integrate(1 / (x**3 + 1), x)))
    answers.append(attempt(lambda: S.integrate(x * S.sin(x), (x, 0, S.pi))))
    answers.append(attempt(lambda: S.integrate(S.log(x) / x, x)))
    answers.append(attempt(lambda: S.diff(S.sin(x) ** x, x)))
    answers.append(attempt(lambda: S.diff(x**5 * y, x, 3, y)))
    answers.append(attempt(lambda: S.limit(S.sin(x) / x, x, 0)))
    answers.append(attempt(lambda: S.limit((1 + 1 / n) ** n, n, S.oo)))
    answers.append(attempt(lambda: S.series(S.exp(x), x, 0, 5)))
    answers.append(attempt(lambda: S.series(S.tan(x), x, 0, 8)))
    answers.append(attempt(lambda: S.summation(1 / n**2, (n, 1, S.oo))))
    answers.append(attempt(lambda: S.Sum(k**3, (k, 1, n)).doit()))
    answers.append(attempt(lambda: S.product(k, (k, 1, 20))))
    answers.append(attempt(lambda: S.laplace_transform(S.exp(-x), x, y)[0]))
    answers.append(attempt(lambda: S.inverse_laplace_transform(1 / (x + 2), x, y)))
    answers.append(attempt(lambda: S.fourier_series(x, (x, -S.pi, S.pi)).truncate(2)))
    answers.append(attempt(lambda: S.Derivative(S.exp(x * y), x, y).doit()))
    answers.append(attempt(lambda: S.hessian(x**2 * y + y**3, (x, y))))
    answers.append(attempt(lambda: S.Integral(S.sin(x**2), (x, 0, 1)).evalf(20)))
    return answers
