import matplotlib.pyplot as plt, numpy as np
def main(args):
    n, b, p = plt.hist(np.arange(100) % 13, bins=5)
    f, a = plt.subplots(); a.plot([0, 10], [5, 7]); a.set_xlim(0, 20)
    return [n.tolist(), b.tolist(), a.get_xlim(), a.get_ylim(), len(plt.get_fignums())]
