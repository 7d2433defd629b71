import numpy as np
def main(args):
    a = np.array([[4., 1, 2], [1, 3, 0], [2, 0, 5]])
    return [np.linalg.svd(a)[1].tolist(), np.linalg.eigvalsh(a).tolist(), float(np.linalg.det(a)), np.linalg.inv(a).tolist(), float(np.linalg.cond(a))]
