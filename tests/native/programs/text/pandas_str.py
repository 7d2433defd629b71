import pandas as pd
def main(args):
    s = pd.Series(["a-1", "b-22", None])
    return [s.str.extract(r"(\w)-(\d+)").fillna("").values.tolist(), s.str.upper().tolist()[:2], s.str.len().tolist()[:2], s.str.contains("b", na=False).tolist()]
