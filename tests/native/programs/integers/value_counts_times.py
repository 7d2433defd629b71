import pandas as pd
def main(args):
    s = pd.Series(["a", "b", "a", "c", "a"])
    vc = s.value_counts()
    return (vc * 1_000_000_000).to_dict()
