import pandas as pd
def main(args):
    df = pd.DataFrame({"a": [1, 2], "b": ["x", "ü"]})
    df.to_excel("o.xlsx", index=False, sheet_name="S"); df.to_csv("o.csv", index=False, sep=";")
    r = pd.read_excel("o.xlsx", sheet_name=None)
    return [list(r), r["S"].to_dict("list"), pd.read_csv("o.csv", sep=";").equals(df)]
