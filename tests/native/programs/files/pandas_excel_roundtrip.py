import pandas as pd


def main(args):
    df = pd.DataFrame({"id": [1, 2**40], "name": ["ä", None], "when": pd.to_datetime(["2024-01-01 00:00", "2024-05-05 10:00"]), "ok": [True, False], "x": [1.5, float("nan")]})
    with pd.ExcelWriter("o.xlsx", engine="xlsxwriter") as w:
        df.to_excel(w, sheet_name="A", index=False)
        df.describe().to_excel(w, sheet_name="B")
        w.sheets["A"].set_column(0, 0, 20)
    back = pd.read_excel("o.xlsx", sheet_name=None)
    df.to_excel("p.xlsx")
    p = pd.read_excel("p.xlsx", index_col=0)
    return {"sheets": list(back), "dt": back["A"].dtypes.astype(str).to_dict(), "ids": back["A"].id.tolist(), "rec": str(back["A"].to_dict("records")), "eq": p.id.tolist(), "names": p.name.fillna("").tolist()}
