import numpy as np
def main(args):
    a = np.array([2**31 - 1], dtype=np.int32)
    return [(a + np.int32(1)).tolist(), str((a * 2).dtype), a.astype(np.int64).sum().item() + 1, np.int32(7).nbytes]
