import pandas as pd


def main(args):
    left = pd.DataFrame({"id": [1, 2, 3, 2**40], "amt": [10**10, 2 * 10**10, 3, 4]})
    right = pd.DataFrame({"id": [2, 3, 5, 2**40], "qty": [7, 8, 9, 10]})
    m = left.merge(right, on="id", how="outer", indicator=True).sort_values("id")
    inner = left.merge(right)
    inner["tot"] = inner.amt * inner.qty
    melted = inner.melt("id").groupby("variable")["value"].sum()
    piv = m.pivot_table(index="_merge", values=["amt", "qty"], aggfunc="sum", observed=False)
    return {
        "merge": m["_merge"].astype(str).tolist(), "ids": m["id"].tolist(), "dtypes": m.dtypes.astype(str).to_dict(),
        "inner": inner.to_dict("records"), "melt": melted.to_dict(), "piv": piv.fillna(0).to_dict(),
        "asof": pd.merge_asof(left.sort_values("id"), right.sort_values("id"), on="id")["qty"].fillna(-1).astype(int).tolist(),
        "isin": left[left.id.isin([2**40])].index.tolist(), "memory": int(left.memory_usage(index=False).sum()),
    }
