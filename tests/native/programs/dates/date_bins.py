import pandas as pd
def main(args):
    t = pd.to_datetime(["2026-01-01 01:10", "2026-01-01 05:50", "2026-01-01 13:00", "2026-01-02 00:30"])
    s = pd.Series(1, index=t)
    return {str(k): int(v) for k, v in s.groupby(pd.Grouper(freq="6h")).sum().items()}
