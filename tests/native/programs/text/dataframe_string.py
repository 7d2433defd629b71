import pandas as pd
def main(args):
    df = pd.DataFrame({"name": ["Ann", "Robert"], "v": [1.5, 22.25], "n": [1, 2]})
    return [df.to_string(), df.to_csv(index=False), df.to_markdown(), df.to_json(orient="records")]
