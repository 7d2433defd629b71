import sympy as sp


def main(args):
    x, y = sp.symbols("x y")
    return {"diff": str(sp.diff(sp.sin(x) * sp.exp(x), x)), "int": str(sp.integrate(x**2 * sp.cos(x), x)), "def": str(sp.integrate(sp.exp(-x**2), (x, -sp.oo, sp.oo))), "lim": str(sp.limit(sp.sin(x) / x, x, 0)), "solve": [str(s) for s in sp.solve(x**3 - 6 * x**2 + 11 * x - 6)], "sys": str(sp.solve([x + y - 3, x - y - 1], [x, y])), "fac": str(sp.factor(x**4 - 1)), "ser": str(sp.series(sp.cos(x), x, 0, 6)), "mat": str(sp.Matrix([[1, 2], [3, 4]]).inv()), "eig": str(sp.Matrix([[2, 1], [1, 2]]).eigenvals()), "n": str(sp.N(sp.pi, 40)), "prime": sp.prime(1000), "fi": str(sp.factorint(2**67 - 1)), "lat": sp.latex(sp.Rational(1, 3) * sp.sqrt(x)), "ode": str(sp.dsolve(sp.Function("f")(x).diff(x) - sp.Function("f")(x))), "simp": str(sp.simplify(sp.sin(x) ** 2 + sp.cos(x) ** 2)), "lam": float(sp.lambdify(x, sp.sqrt(x) + 1, "numpy")(2)), "nt": sp.totient(10**9 + 7) if hasattr(sp, "totient") else None is None, "parse": str(sp.sympify("2*x + x")), "sum": str(sp.summation(1 / x**2, (x, 1, sp.oo)))} | {"nt": int(sp.totient(10**9 + 7))}
