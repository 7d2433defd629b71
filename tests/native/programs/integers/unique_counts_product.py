import numpy as np
def main(args):
    v, c = np.unique(np.repeat([3, 7, 11], [40000, 50000, 60000]), return_counts=True)
    return [v.tolist(), c.tolist(), (c * c).tolist(), (v * c * 100000).tolist()]
