import numpy as np
import pandas as pd


def main(args):
    df = pd.DataFrame({"g": list("aabbbc"), "v": [1, 4, 2, 8, 5, 7], "w": [1.0, 2.0, 0.5, np.nan, 3.0, 1.0]})
    g = df.groupby("g")
    out = {"agg": g.agg(total=("v", "sum"), mx=("v", "max"), wm=("w", "mean")).reset_index().to_dict("records"), "z": g.v.transform(lambda s: (s - s.mean()) / (s.std() if len(s) > 1 else 1)).round(6).tolist(),
           "apply": g[["v", "w"]].apply(lambda d: float((d.v * d.w.fillna(0)).sum())).to_dict(), "filter": g.filter(lambda d: len(d) > 1).v.tolist(), "first": g.first().v.to_dict(), "nth": g.nth(1).v.tolist(), "size": g.size().to_dict(),
           "idx": g.v.idxmax().to_dict(), "cum": g.v.cumsum().tolist(), "shift": g.v.shift(fill_value=0).tolist(), "pct": g.v.pct_change().fillna(0).round(6).tolist(), "quant": g.v.quantile(0.3).to_dict(), "describe": g.v.describe().round(4).fillna(-1).to_dict("index"),
           "desc": g.v.nlargest(1).tolist(), "roll": g.v.rolling(2).sum().fillna(0).tolist(), "named": g.v.agg(lambda s: s.max() - s.min()).to_dict(), "vc": g.v.value_counts().tolist(), "head": g.head(1).v.tolist()}
    return out
