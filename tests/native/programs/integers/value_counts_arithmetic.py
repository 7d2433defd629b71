import pandas as pd


def main(args):
    s = pd.Series(list("mississippi"))
    vc = s.value_counts()
    big = vc * 2_500_000_000
    vc2 = s.value_counts(normalize=True).round(4)
    cat = s.astype("category")
    codes = cat.cat.codes
    return {
        "dtype": str(vc.dtype),
        "big": big.to_dict(),
        "norm": vc2.to_dict(),
        "codes_dtype": str(codes.dtype),
        "combined": (codes.astype(int) * 10**11).tolist()[:4],
        "cross": pd.crosstab(s, s.shift().fillna("-")).to_numpy().tolist(),
        "prod": str((vc ** 20).tolist()),
    }
