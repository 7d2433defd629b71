import pandas as pd
def main(args):
    s = pd.Series([30, 10, 20])
    return (s.rank().astype(int) * 10**10).tolist()
