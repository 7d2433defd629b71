import numpy as np
import pandas as pd


def main(args):
    rng = np.random.default_rng(11)
    scores = rng.normal(size=(6, 40))
    rows = []
    for name, series in zip("abcdef", scores):
        rows.append({"name": name, "best": np.argmax(series), "above": np.count_nonzero(series > 1)})
    report = pd.DataFrame(rows)
    report["key"] = report["best"] * 10**10 + report["above"]
    order = pd.Series(np.argsort(report["best"].to_numpy(), kind="stable"))
    order.iloc[0] = 2**40
    counts = pd.Series(np.bincount(scores.argmax(axis=0))) + 2**31
    grid = pd.DataFrame(np.argwhere(scores > 2), columns=["row", "column"])
    grid["id"] = grid["row"] * 3_000_000_000 + grid["column"]
    peaks = pd.Series([np.argmax(scores[0]), np.argmin(scores[0])])
    peaks += 2**33
    return {
        "types": {column: str(kind) for column, kind in report.dtypes.items()},
        "report": report.to_dict("list"),
        "order": order.tolist(),
        "order type": str(order.dtype),
        "counts": counts.tolist(),
        "grid": grid.astype(str).to_dict("list"),
        "printed": repr(pd.Series(np.argsort([3, 1, 2]))),
        "peaks": peaks.tolist(),
        "text type": repr(pd.Series(["a", "b"]).dtype),
        "index": str(pd.Index(np.argsort([2, 1])).dtype),
    }
