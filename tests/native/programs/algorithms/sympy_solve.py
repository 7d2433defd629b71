import sympy as sp
def main(args):
    x = sp.symbols("x")
    return [str(sp.solve(x**2 - 5*x + 6)), str(sp.integrate(sp.sin(x)**2, x)), str(sp.diff(sp.exp(x**2), x)), str(sp.factor(x**4 - 1)), str(sp.N(sp.pi, 30)), sp.latex(sp.sqrt(x) / 2), str(sp.limit(sp.sin(x)/x, x, 0)), str(sp.factorint(2**32 + 1))]
