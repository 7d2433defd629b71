from datetime import date, timedelta
import pandas as pd


def main(args):
    d = [date(y, m, n) for y in (2020, 2021, 2026) for m, n in ((1, 1), (12, 31))]
    w = {x.isoformat(): [*x.isocalendar(), x.strftime("%U-%W-%V-%G")] for x in d}
    s = pd.Series(range(20), index=pd.date_range("2020-12-25", periods=20))
    return {"w": w, "from": str(date.fromisocalendar(2020, 53, 7)), "grp": {f"{a}-{b}": int(v) for (a, b), v in s.groupby([s.index.isocalendar().year, s.index.isocalendar().week]).sum().items()}, "wk": [str(p) for p in s.index.to_period("W-SUN").unique()], "mon": s.resample("W-MON", label="left", closed="left").sum().to_dict().__len__()}
