import pandas as pd
def main(args):
    df = pd.DataFrame({"g": list("abab"), "v": [1, 2, 3, 4]})
    df["share"] = df.v / df.groupby("g").v.transform("sum")
    df["rank"] = df.groupby("g").v.rank(ascending=False)
    return df.to_dict("list")
