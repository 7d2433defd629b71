import numpy as np
def main(args):
    return np.cumsum(np.full(5, 1_500_000_000)).tolist()
