import io

import pandas as pd

CSV = """user_id,phone,balance,flag,score
9007199254740993,00441234567890,12345678901234567890,1,
4294967296,5550001111,3000000000,0,5
2147483648,5550002222,-3000000000,1,7
"""


def main(args):
    df = pd.read_csv(io.StringIO(CSV))
    out = {
        "dtypes": df.dtypes.astype(str).to_dict(), "ids": df.user_id.tolist(), "bal": [str(b) for b in df.balance],
        "sum": int(df.user_id.sum()), "json": df.to_json(orient="records"), "max": int(df.phone.max()),
        "flag": df.flag.astype(bool).sum().item(),
    }
    df2 = pd.read_csv(io.StringIO(CSV), dtype={"phone": str, "score": "Int64", "flag": int})
    out["phones"] = df2.phone.tolist()
    out["score"] = str(df2.score.tolist())
    out["flag_dtype"] = str(df2.flag.dtype)
    out["csv"] = df2.to_csv(index=False)
    out["describe"] = df.user_id.describe().tolist()
    return out
