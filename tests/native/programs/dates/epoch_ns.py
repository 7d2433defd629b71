import pandas as pd
def main(args):
    t = pd.Timestamp("2026-11-21 12:34:56.789012345")
    return [t.value, t.nanosecond, t.floor("s").isoformat(), t.round("min").isoformat(), t.to_pydatetime(warn=False).isoformat(), t.dayofyear, t.quarter, t.is_month_end]
