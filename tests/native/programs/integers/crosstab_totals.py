import pandas as pd
def main(args):
    df = pd.DataFrame({"a": ["x", "y", "x"], "b": ["p", "p", "q"]})
    ct = pd.crosstab(df.a, df.b)
    return (ct * 4_000_000_000).to_dict()
