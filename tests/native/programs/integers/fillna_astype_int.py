import pandas as pd
def main(args):
    s = pd.Series([2.5e9, None, 7.0])
    return s.fillna(0).astype(int).tolist()
