import numpy as np
def main(args):
    x = np.arange(0, 100000, 25000)
    return {"sq": (x ** 2).tolist(), "cube": (x.astype(int) ** 3).tolist()}
