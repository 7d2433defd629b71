# refused: ImportError: use pandas with CSV, or sqlite3
import pandas as pd


def main(args):
    pd.DataFrame({"a": [1, 2, 3]}).to_hdf("store.h5", key="table")
    return pd.read_hdf("store.h5", "table").shape
