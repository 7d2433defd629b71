import numpy as np
import pandas as pd


def main(args):
    df = pd.DataFrame({
        "store": ["b", "a", "c", "a", "b", "c", "c"],
        "day": pd.to_datetime(["2024-01-02", "2024-01-01", "2024-01-01", "2024-01-03", "2024-01-01", "2024-01-02", "2024-01-02"]),
        "units": [3, 5, 2, 8, 1, 9, 4],
    })
    g = df.groupby("store")
    df["ngroup"] = g.ngroup() * 3_000_000_000
    df["cumcount"] = g.cumcount() + 2**33
    codes, uniques = pd.factorize(df["store"])
    key = codes.astype("int64") * 10**10 + df["units"].to_numpy()
    sizes = g.size() * 10**9 * 5
    return {
        "ngroup": df["ngroup"].tolist(),
        "cumcount": df["cumcount"].tolist(),
        "key": key.tolist(),
        "sizes": sizes.to_dict(),
        "dtypes": {k: str(v) for k, v in df.dtypes.items()},
        "indices": {k: [int(i) for i in v] for k, v in g.indices.items()},
        "rank": g["units"].rank(method="first").astype(int).tolist(),
    }
