import io
import pandas as pd
def main(args):
    csv = io.StringIO("id,a\n1,3000000000\n2,4000000000\n")
    df = pd.read_csv(csv, dtype={"a": int})
    return {"rows": df.to_dict("records"), "total": int(df.a.sum()), "dtypes": df.dtypes.astype(str).to_dict()}
