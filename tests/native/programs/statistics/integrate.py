from scipy.integrate import quad, solve_ivp
import math
def main(args):
    r = solve_ivp(lambda t, y: [-0.5 * y[0]], (0, 4), [2.0], t_eval=[1, 2, 4], rtol=1e-8)
    return [quad(math.sin, 0, math.pi)[0], r.y[0].round(7).tolist()]
