import pandas as pd
def main(args):
    s = pd.to_datetime(pd.Series(["2026-01-02", "2026-02-03 04:05", None]), format="mixed")
    return [s.dt.strftime("%d.%m.%Y").fillna("-").tolist(), s.dt.month.fillna(0).astype(int).tolist(), s.dt.day_name().fillna("").tolist(), str(s.dtype)]
