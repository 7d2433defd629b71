# refused: ImportError: read_parquet and to_parquet work
import pandas as pd


def main(args):
    pd.DataFrame({"a": [1, 2, 3]}).to_feather("table.feather")
    return pd.read_feather("table.feather")["a"].sum()
