import pandas as pd
def main(args):
    df = pd.DataFrame({"amount": [3_000_000_000.0, 1.0]})
    df["cents"] = df["amount"].astype(int) * 100
    return {"cents": df["cents"].tolist(), "dtype": str(df["cents"].dtype)}
