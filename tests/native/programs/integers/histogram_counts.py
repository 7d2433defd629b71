import numpy as np
def main(args):
    h, e = np.histogram(np.arange(1000) % 7, bins=7)
    return {"h": (h * 10**8 * 50).tolist(), "e": e.tolist(), "dtype": str(h.dtype)}
