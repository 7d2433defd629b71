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
    answers.append(attempt(lambda: S.Poly(x**4 + 3 * x + 10**12, x).discriminant()))
    answers.append(attempt(lambda: S.Poly(x**5 - 1).factor_list()))
    answers.append(attempt(lambda: S.factor_list(x**6 - 1, modulus=7)))
    answers.append(attempt(lambda: S.Poly(x**2 + x + 1, modulus=5).is_irreducible))
    answers.append(attempt(lambda: S.legendre(5, x)))
    answers.append(attempt(lambda: S.chebyshevt(6, x)))
    answers.append(attempt(lambda: S.hermite(5, x)))
    answers.append(attempt(lambda: S.laguerre(3, x)))
    answers.append(attempt(lambda: S.cyclotomic_poly(12, x)))
    answers.append(attempt(lambda: S.sturm(x**3 - 2 * x + 1)))
    answers.append(attempt(lambda: S.count_roots(x**5 - 3 * x + 1)))
    answers.append(attempt(lambda: S.symmetrize(x**2 + y**2, formal=True)))
    answers.append(attempt(lambda: S.gamma(S.Rational(7, 2))))
    answers.append(attempt(lambda: S.erf(1).evalf(25)))
    answers.append(attempt(lambda: S.besselj(1, 2).evalf(20)))
    answers.append(attempt(lambda: S.zeta(6)))
    answers.append(attempt(lambda: S.Ynm(1, 0, x, y).expand(func=True)))
    answers.append(attempt(lambda: S.finite_diff_weights(2, [-1, 0, 1], 0)[2][-1]))
    answers.append(attempt(lambda: S.euler_equations(f(x).diff(x) ** 2, f(x), x) if hasattr(S, "euler_equations") else None))
    answers.append(attempt(lambda: S.minimal_polynomial(S.sqrt(2) + S.sqrt(3), x)))
    answers.append(attempt(lambda: S.Poly.from_list([1, 0, -(2**70)], x).all_roots()))
    answers.append(attempt(lambda: S.decompose(x**4 + 2 * x**2, x)))
    return answers
