import matplotlib.pyplot as plt
import numpy as np
import pandas as pd


def main(args):
    df = pd.DataFrame({"q": [1, 4, 2], "r": [3, 1, 5]}, index=["x", "y", "z"])
    ax = df.plot(kind="barh", stacked=True, figsize=(5, 3))
    widths = [p.get_width() for p in ax.patches]
    with plt.style.context("ggplot"):
        fig, (a, b) = plt.subplots(1, 2, sharey=True)
        a.errorbar([1, 2], [3, 4], yerr=[0.1, 0.2], capsize=3)
        b.stackplot([0, 1, 2], [1, 2, 3], [2, 2, 1])
        b.set_yscale("log")
        c, = a.step([1, 2, 3], [1, 3, 2])
        bp = b.boxplot([[1, 2, 3, 9]])
    ax3 = df.q.hist(bins=3)
    h = np.histogram2d([1, 2], [3, 4], bins=2)[0]
    plt.close("all")
    return {"w": widths, "leg": [t.get_text() for t in ax.get_legend().get_texts()], "col": c.get_color(), "med": bp["medians"][0].get_ydata().tolist(), "h": h.tolist(), "n": len(plt.get_fignums()), "labels": [t.get_text() for t in ax.get_yticklabels()]}
