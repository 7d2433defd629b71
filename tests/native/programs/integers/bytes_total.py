import numpy as np
def main(args):
    sizes = np.array([1 << 30, 1 << 31, 1 << 32])
    return {"total_gb": float(sizes.sum() / 2**30), "max": int(sizes.max()), "shifted": (np.array([1]) << 40).tolist()}
