import warnings

import numpy as np

warnings.simplefilter("ignore")


def main(args):
    big = np.int64(2**63 - 1)
    arr = np.array([2**63 - 1, -2**63])
    i32 = np.array([2**31 - 1], dtype=np.int32)
    u8 = np.array([250, 10], dtype=np.uint8)
    return {
        "wrap": int(big + np.int64(1)), "arr": (arr + 1).tolist(), "abs": np.abs(arr).tolist(),
        "i32": (i32 + 1).tolist(), "i32s": int((i32 * 2).sum()), "u8": (u8 + 10).tolist(), "u8sum": int(u8.sum()),
        "mean": float(i32.mean()), "neg": (-u8).tolist(), "diff": np.diff(u8).tolist(),
        "u64": (np.array([0], dtype=np.uint64) - np.uint64(1)).tolist(),
        "mixed": str((np.array([1], dtype=np.uint64) + np.array([1])).dtype),
        "floor": (np.array([-7, 7]) // 2).tolist(), "mod": (np.array([-7, 7]) % -3).tolist(),
        "zero": (np.array([1, 2]) // np.array([0, 1])).tolist(),
        "minint": int(np.iinfo(int).min), "bits": np.iinfo(np.int_).bits,
    }
