import numpy as np


def main(args):
    d = np.arange("2024-01-30", "2024-03-02", dtype="datetime64[D]")
    m = d.astype("datetime64[M]")
    u, c = np.unique(m, return_counts=True)
    t = np.datetime64("2024-01-01T00:00:00", "s") + np.arange(3) * np.timedelta64(10**9, "s")
    return {"n": len(d), "u": u.astype(str).tolist(), "c": (c * 86400 * 10**9).tolist(), "dow": ((d.astype(int) - 4) % 7).tolist()[:3], "t": t.astype(str).tolist(), "diff": str(t[1] - t[0]), "nat": str(np.datetime64("NaT")), "isnat": np.isnat(np.array(["NaT", "2024-01-01"], dtype="M8[D]")).tolist(), "ms": int(np.datetime64("2024-01-01", "ms").astype(int)), "div": float(np.timedelta64(1, "D") / np.timedelta64(1, "h")), "py": str(np.datetime64("2024-05-01T10:00").item()), "yr": int(np.datetime64("2024").astype("datetime64[Y]").astype(int)) + 1970, "mx": str(d.max()), "mean": str(np.array([1, 2, 4], dtype="m8[s]").mean()), "nati": int(np.datetime64("NaT").astype("int64")), "natf": np.array(["NaT"], "m8[s]").astype(float).tolist(), "fromf": np.array([np.nan, 1.7]).astype("m8[s]").astype(str).tolist()}
