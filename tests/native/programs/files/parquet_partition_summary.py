import pandas as pd


def main(args):
    df = pd.DataFrame({"k": ["a", "b", "a"], "n": [2**40, 5, -7], "f": [0.5, None, 2.5], "t": pd.to_datetime(["2024-01-01", "2024-02-01", None])})
    df.to_parquet("d.parquet", index=False)
    back = pd.read_parquet("d.parquet", columns=["k", "n"])
    full = pd.read_parquet("d.parquet")
    return {"back": back.to_dict("list"), "dt": full.dtypes.astype(str).to_dict(), "sum": full.groupby("k").n.sum().to_dict(), "nat": full.t.isna().tolist()}
