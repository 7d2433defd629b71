import pandas as pd
def main(args):
    return {f: [str(d) for d in pd.date_range("2026-01-31", periods=3, freq=f)] for f in ("D", "ME", "MS", "QE", "W-MON", "h", "YE", "15min")}
