import pandas as pd
def main(args):
    s = pd.Series([0, 3_000_000_000, 1])
    return {"diff": s.diff().tolist()[1:], "cum": s.cumsum().tolist(), "shift": s.shift(fill_value=0).tolist()}
