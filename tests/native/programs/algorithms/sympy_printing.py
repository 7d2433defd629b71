import sympy as S
from sympy.parsing.sympy_parser import parse_expr
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
    x, y, z, n = S.symbols("x y z n")
    k = S.symbols("k", integer=True, positive=True)
    f = S.Function("f")
    answers.append(attempt(lambda: S.latex(S.sqrt(x) / 2)))
    answers.append(attempt(lambda: S.latex(S.Integral(S.exp(x), (x, 0, S.oo)))))
    answers.append(attempt(lambda: S.pretty(S.Integral(x**2, x))))
    answers.append(attempt(lambda: S.pretty(S.Matrix([[1, x], [y, 2]]))))
    answers.append(attempt(lambda: S.srepr(x + 1)))
    answers.append(attempt(lambda: S.mathml(x**2)))
    answers.append(attempt(lambda: S.ccode(S.sin(x) ** 3)))
    answers.append(attempt(lambda: S.pycode(S.sqrt(x) + S.pi)))
    answers.append(attempt(lambda: S.fcode(x**2)))
    answers.append(attempt(lambda: S.jscode(S.Abs(x))))
    answers.append(attempt(lambda: str(S.Eq(x, 1))))
    answers.append(attempt(lambda: S.sympify("x**2 + 1")))
    answers.append(attempt(lambda: S.sympify("x^2")))
    answers.append(attempt(lambda: parse_expr("2*x + 1")))
    answers.append(attempt(lambda: S.parse_expr("2 x")))
    answers.append(attempt(lambda: S.lambdify(x, x**10 * 10**10, "numpy")(np.array([2, 3]))))
    answers.append(attempt(lambda: S.lambdify((x, y), S.sqrt(x) + y, "math")(4, 1)))
    answers.append(attempt(lambda: S.cse([S.sin(x) + S.cos(x), (S.sin(x) + S.cos(x)) ** 2])))
    answers.append(attempt(lambda: S.preorder_traversal(x + y * 2).__next__()))
    answers.append(attempt(lambda: repr(sorted((x + y + z + 3).args, key=str))))
    answers.append(attempt(lambda: S.Symbol("alpha").name + S.latex(S.Symbol("alpha_1"))))
    return answers
