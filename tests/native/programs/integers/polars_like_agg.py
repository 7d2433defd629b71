import pandas as pd
def main(args):
    df = pd.DataFrame({"g": [1, 1, 2], "v": [2**31, 2**31, 5]})
    r = df.groupby("g").agg(total=("v", "sum"), n=("v", "count"), mx=("v", "max"), mean=("v", "mean"))
    r["prod"] = r.total * r.n
    return r.reset_index().to_dict("records")
