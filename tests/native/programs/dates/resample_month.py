import pandas as pd
def main(args):
    s = pd.Series(range(90), index=pd.date_range("2026-01-01", periods=90))
    r = s.resample("ME").agg(["sum", "mean", "count"])
    r.index = r.index.strftime("%Y-%m")
    return r.to_dict("index")
