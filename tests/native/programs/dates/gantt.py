import pandas as pd
def main(args):
    df = pd.DataFrame({"task": ["a", "b"], "start": ["2026-01-01", "2026-01-10"], "days": [5, 12]})
    df["end"] = pd.to_datetime(df.start) + pd.to_timedelta(df.days, unit="D")
    df["week"] = df.end.dt.isocalendar().week
    return df.assign(end=df.end.astype(str), week=df.week.astype(int)).to_dict("records")
