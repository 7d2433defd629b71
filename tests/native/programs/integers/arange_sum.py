import numpy as np
def main(args):
    return [int(np.arange(70000).sum()), str(np.arange(5).dtype), int(np.arange(3_000_000_000, 3_000_000_005).sum())]
