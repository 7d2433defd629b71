import pandas as pd


def main(args):
    ev = pd.DataFrame({"user": [1, 1, 2, 2, 3, 1, 3, 4, 4, 2], "ts": pd.to_datetime(["2024-01-03", "2024-02-07", "2024-01-15", "2024-03-01", "2024-02-10", "2024-03-30", "2024-03-05", "2024-03-09", "2024-04-02", "2024-04-20"])})
    ev["month"] = ev.ts.dt.to_period("M")
    ev["cohort"] = ev.groupby("user").month.transform("min")
    ev["age"] = (ev.month - ev.cohort).apply(lambda o: o.n)
    table = ev.groupby(["cohort", "age"]).user.nunique().unstack(fill_value=0)
    pct = table.div(table[0], axis=0).round(3)
    return {"table": {str(k): v.tolist() for k, v in table.iterrows()}, "pct": pct.to_numpy().tolist(), "ord": ev.month.astype("int64").tolist(), "text": table.to_string()}
