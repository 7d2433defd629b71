import pandas as pd
def main(args):
    s = pd.Series([1, 7, 5, 4, 6, 9, 2, 3])
    return {"cut": pd.cut(s, 3).astype(str).tolist(), "qcut": pd.qcut(s, 4, labels=False).tolist()}
