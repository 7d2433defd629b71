import pandas as pd
def main(args):
    df = pd.DataFrame({"user_id": [9007199254740993, 9007199254740995], "x": [1, 2]})
    m = df.merge(pd.DataFrame({"user_id": [9007199254740993], "y": [5]}), on="user_id")
    return m.to_dict("records")
