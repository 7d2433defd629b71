import numpy as np
from scipy import integrate, interpolate, linalg, optimize


def main(args):
    rosen = optimize.minimize(optimize.rosen, [1.3, 0.7, 0.8], method="BFGS")
    lp = optimize.linprog([-1, -2], A_ub=[[1, 1], [1, 3]], b_ub=[4, 6])
    root = optimize.brentq(lambda x: x**3 - 2, 0, 2)
    popt, _ = optimize.curve_fit(lambda x, a, b: a * np.exp(-b * x), np.linspace(0, 4, 20), 2.5 * np.exp(-1.3 * np.linspace(0, 4, 20)))
    r, c = optimize.linear_sum_assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    ode = integrate.solve_ivp(lambda t, y: -0.5 * y, [0, 4], [2.0], t_eval=[1, 2, 4])
    sp = interpolate.CubicSpline([0, 1, 2, 3], [0, 1, 4, 9])
    return {"rosen": rosen.x.round(4).tolist(), "lp": [round(lp.fun, 8), lp.x.round(8).tolist()], "root": root, "popt": popt.round(6).tolist(), "assign": [r.tolist(), c.tolist()], "cost": int((c * 3_000_000_000).sum()),
            "quad": integrate.quad(np.sin, 0, np.pi)[0], "ode": ode.y.round(4).tolist(), "sp": float(sp(1.5)), "det": linalg.det([[1, 2], [3, 4]]), "eig": sorted(linalg.eigvals([[2, 0], [0, 3]]).real.tolist()),
            "milp": optimize.milp([-3, -2], constraints=optimize.LinearConstraint([[2, 1]], ub=[7]), bounds=optimize.Bounds(0, 3), integrality=[1, 1]).x.round(6).tolist()}
