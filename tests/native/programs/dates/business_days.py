import numpy as np, pandas as pd
def main(args):
    return [int(np.busday_count("2026-01-01", "2026-02-01")), str(np.busday_offset("2026-01-03", 0, roll="forward")), [str(d.date()) for d in pd.bdate_range("2026-05-01", "2026-05-12")], str((pd.Timestamp("2026-11-20") + pd.offsets.BDay(3)).date())]
