import numpy as np
def main(args):
    a = np.array([100000, 200000, 300000])
    m = np.array([[70000, 2], [3, 90000]])
    return [int(a @ a), (m @ m).tolist(), int(np.dot(a, a)), np.outer(a, a).tolist()]
