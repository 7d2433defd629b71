import numpy as np
import pandas as pd


def main(args):
    mi = pd.MultiIndex.from_product([["x", "y"], [1, 2, 3]], names=["k", "n"])
    s = pd.Series(np.arange(6) * 10**10, index=mi)
    u = s.unstack()
    w = pd.wide_to_long(pd.DataFrame({"id": [1, 2], "v1": [3, 4], "v2": [5, 6]}), "v", "id", "j")
    e = pd.DataFrame({"a": [[1, 2], [3]], "b": [10**12, 5]}).explode("a")
    return {"u": u.to_dict(), "lvl": s.groupby(level="n").sum().to_dict(), "codes": [list(map(int, c)) for c in mi.codes], "xs": s.xs(2, level="n").to_dict(), "w": w.v.tolist(), "e": e.astype(int).to_dict("list"),
            "loc": [int(v) for v in mi.get_indexer([("y", 2), ("z", 1)])], "swap": [list(i) for i in s.swaplevel().sort_index().index], "stack": u.stack().tolist(), "gl": int(mi.get_loc(("y", 1))) * 10**10, "text": s.to_string()}
