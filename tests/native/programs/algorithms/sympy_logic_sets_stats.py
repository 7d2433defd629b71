import sympy as S
from sympy import stats
from sympy.logic import boolalg


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
    a, b, c = S.symbols("a b c")
    answers.append(attempt(lambda: S.to_cnf("a | (b & c)")))
    answers.append(attempt(lambda: S.simplify_logic(a & (a | b))))
    answers.append(attempt(lambda: S.satisfiable(a & ~b)))
    answers.append(attempt(lambda: S.satisfiable(a & ~a)))
    answers.append(attempt(lambda: S.SOPform([a, b], [[1, 0], [1, 1]])))
    answers.append(attempt(lambda: list(boolalg.truth_table(a >> b, [a, b]))))
    answers.append(attempt(lambda: S.Interval(0, 1).union(S.Interval(2, 3))))
    answers.append(attempt(lambda: S.Interval(0, 5).intersect(S.Interval(3, 9))))
    answers.append(attempt(lambda: S.FiniteSet(1, 2, 3).powerset().__len__()))
    answers.append(attempt(lambda: S.Complement(S.Interval(0, 5), S.Interval(1, 2))))
    answers.append(attempt(lambda: S.ProductSet(S.FiniteSet(1, 2), S.FiniteSet(3)).is_iterable))
    answers.append(attempt(lambda: stats.E(stats.Die("D", 6))))
    answers.append(attempt(lambda: stats.variance(stats.Die("D", 6))))
    answers.append(attempt(lambda: stats.P(stats.Normal("N", 0, 1) > 1)))
    answers.append(attempt(lambda: stats.density(stats.Binomial("B", 4, S.Rational(1, 2))).dict))
    answers.append(attempt(lambda: stats.E(stats.Exponential("X", 2))))
    answers.append(attempt(lambda: stats.cdf(stats.Normal("N", 0, 1))(1).evalf(15)))
    answers.append(attempt(lambda: S.Piecewise((1, x < 0), (2, True)).subs(x, 3)))
    answers.append(attempt(lambda: S.combinatorics.Permutation([2, 0, 1]).order()))
    answers.append(attempt(lambda: S.combinatorics.SymmetricGroup(5).order()))
    answers.append(attempt(lambda: S.geometry.Triangle(S.Point(0, 0), S.Point(3, 0), S.Point(0, 4)).area))
    answers.append(attempt(lambda: S.geometry.Circle(S.Point(0, 0), 2).intersection(S.Line(S.Point(0, 0), S.Point(1, 1)))))
    answers.append(attempt(lambda: S.physics.units.convert_to(S.physics.units.hour, S.physics.units.second) if hasattr(S, "physics") else None))
    return answers
