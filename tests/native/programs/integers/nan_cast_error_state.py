import numpy as np


def main(args):
    out = {}
    with np.errstate(invalid="ignore"):
        out["ignored"] = np.array([np.nan]).astype("int64").tolist()
    s = np.array([[1.5, np.inf], [np.nan, -2.5]])
    with np.errstate(all="ignore"):
        target = np.zeros((2, 2), dtype=np.int64)
        target[...] = s
        out["assigned"] = target.tolist()
        out["copyto"] = np.zeros(2, dtype=np.int64).tolist()
        t = np.zeros(2, dtype=np.int64)
        np.copyto(t, s[0], casting="unsafe")
        out["copied"] = t.tolist()
    return out
