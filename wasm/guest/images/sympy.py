"""Algebra: sympy, with the parts that solve, integrate and print."""

import sympy


def use_sympy():
    """Solves, differentiates and prints a few expressions."""
    x, y = sympy.symbols("x y")
    sympy.solve(x**2 - 5 * x + 6, x)
    sympy.solve([x + y - 3, x - y - 1], [x, y])
    sympy.diff(sympy.sin(x) * sympy.exp(x), x)
    sympy.integrate(x * sympy.cos(x), x)
    sympy.integrate(sympy.exp(-(x**2)), (x, -sympy.oo, sympy.oo))
    sympy.limit(sympy.sin(x) / x, x, 0)
    sympy.series(sympy.cos(x), x, 0, 4)
    sympy.simplify(sympy.sin(x) ** 2 + sympy.cos(x) ** 2)
    sympy.factor(x**3 - 1)
    sympy.Matrix([[1, 2], [3, 4]]).eigenvals()
    sympy.lambdify(x, x**2)(3)
    sympy.latex(sympy.Rational(1, 3) * x)
    sympy.sympify("2*x + 1").evalf(subs={x: 2})


use_sympy()
