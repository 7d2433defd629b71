import numpy as np
def main(args):
    a = np.array([2000000000, 2000000000])
    return {"sum": int(a.sum()), "dtype": str(a.dtype), "mean": float(a.mean())}
