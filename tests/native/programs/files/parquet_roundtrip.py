import pandas as pd
def main(args):
    df = pd.DataFrame({"a": [1, 2**40], "b": ["x", None], "c": [1.5, 2.5]})
    df.to_parquet("d.parquet")
    r = pd.read_parquet("d.parquet")
    return [r["a"].tolist(), r["c"].tolist(), str(r["a"].dtype), r.shape]
