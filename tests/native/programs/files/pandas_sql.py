import sqlite3, pandas as pd
def main(args):
    c = sqlite3.connect("p.db")
    pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}).to_sql("t", c, index=False)
    return pd.read_sql("select b, a * 2000000000 as big from t", c).to_dict("records")
