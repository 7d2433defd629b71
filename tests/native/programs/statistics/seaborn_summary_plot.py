import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns


def main(args):
    rng = np.random.default_rng(6)
    df = pd.DataFrame({"v": rng.normal(size=90), "g": np.repeat(list("abc"), 30)})
    ax = sns.boxplot(data=df, x="g", y="v")
    labels = [t.get_text() for t in ax.get_xticklabels()]
    fig2, ax2 = plt.subplots()
    n, bins, patches = ax2.hist(df.v, bins=7)
    ax2.set_title("n")
    fig2.savefig("hist.png", dpi=50)
    corr = df.assign(w=df.v * 2).corr(numeric_only=True)
    sns.heatmap(corr, annot=True)
    plt.savefig("heat.png")
    plt.close("all")
    from PIL import Image
    return {"labels": labels, "n": n.tolist(), "bins": bins.round(9).tolist(), "patches": len(patches), "size": Image.open("hist.png").size, "ylim": [round(v, 6) for v in ax2.get_ylim()]}
