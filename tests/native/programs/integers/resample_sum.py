import pandas as pd
def main(args):
    i = pd.date_range("2026-01-01", periods=6, freq="12h")
    s = pd.Series([1_500_000_000] * 6, index=i)
    return s.resample("D").sum().tolist()
