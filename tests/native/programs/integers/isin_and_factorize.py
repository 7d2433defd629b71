import pandas as pd
def main(args):
    codes, uniq = pd.factorize(pd.Series(["b", "a", "b", "c"]))
    return [(codes * 10**10).tolist(), list(uniq)]
