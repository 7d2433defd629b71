import numpy as np
from scipy.stats import entropy
def main(args):
    x = np.sort(np.array([1, 2, 3, 10]))
    n = len(x)
    gini = (2 * np.sum((np.arange(1, n + 1)) * x) / (n * x.sum())) - (n + 1) / n
    return [entropy([.5, .25, .25], base=2), float(gini)]
