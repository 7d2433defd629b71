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
    answers.append(attempt(lambda: S.solve(x**3 - 6 * x + 2, x)))
    answers.append(attempt(lambda: S.solve([x + y - 2, x - y], [x, y])))
    answers.append(attempt(lambda: S.solve(x**4 - 5 * x**2 + 4, x)))
    answers.append(attempt(lambda: S.solve(x**2 < 4, x)))
    answers.append(attempt(lambda: S.nsolve(S.cos(x) - x, x, 1)))
    answers.append(attempt(lambda: S.solveset(x**2 - 4, x)))
    answers.append(attempt(lambda: S.solveset(S.sin(x), x, S.Interval(0, 10))))
    answers.append(attempt(lambda: S.linsolve([x + y - 2, x - y], x, y)))
    answers.append(attempt(lambda: S.nonlinsolve([x**2 - 1, y - x], x, y)))
    answers.append(attempt(lambda: S.dsolve(f(x).diff(x) - f(x))))
    answers.append(attempt(lambda: S.dsolve(f(x).diff(x, 2) + f(x), ics={f(0): 0, f(x).diff(x).subs(x, 0): 1})))
    answers.append(attempt(lambda: S.rsolve(f(n + 1) - 2 * f(n), f(n))))
    answers.append(attempt(lambda: S.roots(x**3 - 3 * x + 2)))
    answers.append(attempt(lambda: S.real_roots(x**5 - x - 1)[0].evalf(15)))
    answers.append(attempt(lambda: S.Poly(x**5 - x - 1).nroots(n=12)))
    answers.append(attempt(lambda: sorted(map(str, S.diophantine(3 * x + 5 * y - 1)))))
    answers.append(attempt(lambda: S.reduce_inequalities([x > 1, x < 3])))
    answers.append(attempt(lambda: S.solve(S.exp(x) + x, x)))
    answers.append(attempt(lambda: S.checksol(x**2 - 4, x, 2)))
    return answers
