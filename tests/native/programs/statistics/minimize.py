import numpy as np
from scipy.optimize import minimize, rosen
def main(args):
    r = minimize(rosen, [1.3, 0.7, 0.8], method="L-BFGS-B")
    return [bool(r.success), np.round(r.x, 3).tolist()]
