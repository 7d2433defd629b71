import pandas as pd
def main(args):
    p = pd.Period("2026Q1")
    return [str(p + 5), str(p.start_time), str(p.end_time), [str(x) for x in pd.period_range("2026-01", periods=3, freq="M")]]
