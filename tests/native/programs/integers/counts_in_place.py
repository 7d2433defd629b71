import numpy as np
def main(args):
    counts = np.array([3, 4])
    counts *= 10**9
    counts += 5
    return counts.tolist()
