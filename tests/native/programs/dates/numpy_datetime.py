import numpy as np
def main(args):
    a = np.arange("2026-01", "2026-04", dtype="datetime64[M]")
    d = np.datetime64("2026-03-01") - np.datetime64("2024-02-29")
    return [a.astype(str).tolist(), int(d.astype(int)), str(np.datetime64("2026-11-21T10:00") + np.timedelta64(90, "m")), str(np.datetime64("2300-01-01", "s").astype("int64"))]
