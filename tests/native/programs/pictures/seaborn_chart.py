import seaborn as sns, pandas as pd, matplotlib.pyplot as plt
def main(args):
    df = pd.DataFrame({"x": [1, 2, 3, 4], "y": [2, 3, 5, 8], "g": list("abab")})
    ax = sns.scatterplot(df, x="x", y="y", hue="g"); sns.heatmap(df[["x", "y"]].corr(), annot=True, ax=plt.figure().gca()); plt.savefig("s.png")
    return [ax.get_xlabel(), [t.get_text() for t in ax.get_legend().get_texts()]]
