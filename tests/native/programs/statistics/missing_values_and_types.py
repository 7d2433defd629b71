import numpy as np
import pandas as pd


def main(args):
    df = pd.DataFrame({"i": [1, None, 3], "s": ["a", None, "c"], "b": [True, None, False], "t": pd.to_datetime(["2024-01-01", None, "2024-01-03"])})
    conv = df.convert_dtypes()
    return {"dt": df.dtypes.astype(str).to_dict(), "conv": conv.dtypes.astype(str).to_dict(), "na": df.isna().sum().to_dict(), "interp": df.i.interpolate().tolist(), "ffill": df.s.ffill().tolist(),
            "sum": [float(df.i.sum()), int(conv.i.sum())], "cnt": df.count().tolist(), "drop": len(df.dropna()), "rec": str(conv.to_dict("records")), "json": df.to_json(date_format="iso"), "np": repr(np.array([1, np.nan])),
            "eq": bool(df.equals(df.copy())), "cut": pd.cut([1, 5, 9], 3).astype(str).tolist(), "qcut": pd.qcut(range(8), 4, labels=False).tolist(), "dum": pd.get_dummies(df.s).to_numpy().tolist(), "rank": df.i.rank().fillna(0).tolist()}
