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
    answers.append(attempt(lambda: S.factor(x**5 - 1)))
    answers.append(attempt(lambda: S.factor(x**2 + 2 * x * y + y**2)))
    answers.append(attempt(lambda: S.expand((x + y) ** 6)))
    answers.append(attempt(lambda: S.simplify(S.sin(x) ** 2 + S.cos(x) ** 2)))
    answers.append(attempt(lambda: S.trigsimp(S.sin(2 * x) / S.cos(x))))
    answers.append(attempt(lambda: S.apart(1 / (x**2 - 1))))
    answers.append(attempt(lambda: S.together(1 / x + 1 / y)))
    answers.append(attempt(lambda: S.cancel((x**2 - 1) / (x - 1))))
    answers.append(attempt(lambda: S.collect(x * y + x - 3 + 2 * x**2, x)))
    answers.append(attempt(lambda: S.gcd(x**2 - 1, x - 1)))
    answers.append(attempt(lambda: S.resultant(x**2 - 1, x - 2)))
    answers.append(attempt(lambda: S.Poly(x**2 + 1).all_coeffs()))
    answers.append(attempt(lambda: S.div(x**3 - 1, x - 1)))
    answers.append(attempt(lambda: S.groebner([x**2 + y, x * y - 1], x, y).exprs))
    answers.append(attempt(lambda: S.radsimp(1 / (1 + S.sqrt(2)))))
    answers.append(attempt(lambda: S.nsimplify(0.333333333333333, rational=True)))
    answers.append(attempt(lambda: S.sqrtdenest(S.sqrt(5 + 2 * S.sqrt(6)))))
    answers.append(attempt(lambda: S.powsimp(x**2 * x**n)))
    answers.append(attempt(lambda: S.expand_trig(S.cos(x + y))))
    answers.append(attempt(lambda: S.count_ops(x**2 + 1)))
    answers.append(attempt(lambda: (x**2 + 3 * x).subs(x, 10**12)))
    answers.append(attempt(lambda: S.interpolate([1, 4, 9, 16], x)))
    answers.append(attempt(lambda: S.discriminant(x**3 - x + 1)))
    return answers
