import pandas as pd
def main(args):
    df = pd.DataFrame({"x": [1, 2, 3, 4, 100], "y": [2.5, 3.5, None, 1.0, 9.0]})
    return df.describe().round(6).to_dict()
