import pandas as pd
def main(args):
    s = pd.Series(range(10), dtype=float) ** 2
    return {"roll": s.rolling(3).mean().dropna().tolist(), "ewm": s.ewm(span=3).mean().tolist(), "exp": s.expanding().std().dropna().tolist()}
