import numpy as np
def main(args):
    a = np.array([[0, 1], [1, 1]])
    r, c = np.where(a == 1)
    return ((r * 3_000_000_000) + c).tolist()
