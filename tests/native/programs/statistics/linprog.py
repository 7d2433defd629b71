from scipy.optimize import linprog
def main(args):
    r = linprog([-1, -2], A_ub=[[1, 1], [1, -1]], b_ub=[4, 2], bounds=[(0, None), (0, 3)])
    return [r.x.tolist(), r.fun, r.message]
