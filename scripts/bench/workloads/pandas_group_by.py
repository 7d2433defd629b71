"""Groups 10,000 rows with pandas."""

import numpy as np
import pandas as pd


def main(args):
    number = np.arange(10000)
    table = pd.DataFrame({"key": number * 7919 % 100, "value": number * 104729 % 1000 / 8})
    groups = table.groupby("key")["value"].agg(["mean", "std", "count"])
    return {"groups": len(groups), "spread": round(float(groups["std"].mean()), 6)}
