from scipy.spatial.distance import cdist, pdist, squareform
import numpy as np
def main(args):
    p = np.array([[0, 0], [3, 4], [6, 8]])
    return [cdist(p, p).tolist(), squareform(pdist(p, "cityblock")).tolist()]
