import pandas as pd
def main(args):
    a = pd.DataFrame({"t": pd.to_datetime(["2026-01-01 10:00", "2026-01-01 10:05"]), "v": [1, 2]})
    b = pd.DataFrame({"t": pd.to_datetime(["2026-01-01 09:59", "2026-01-01 10:04"]), "p": [10., 11.]})
    return pd.merge_asof(a, b, on="t").p.tolist()
