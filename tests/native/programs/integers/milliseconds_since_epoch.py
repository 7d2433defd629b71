import pandas as pd
def main(args):
    t = pd.to_datetime(["2026-01-01", "2026-06-01"])
    ms = t.astype("int64") // 10**6 if str(t.dtype).endswith("[ns]") else t.as_unit("ns").astype("int64") // 10**6
    return ms.tolist()
