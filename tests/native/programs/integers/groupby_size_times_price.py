import pandas as pd
def main(args):
    df = pd.DataFrame({"k": list("aabbb"), "p": [10**9] * 5})
    g = df.groupby("k")
    return {"size": (g.size() * 2_000_000_000).to_dict(), "sum": g["p"].sum().to_dict(), "ng": g.ngroup().mul(10**10).tolist()}
