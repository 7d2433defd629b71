import numpy as np
def main(args):
    d = np.array([10, 12, 11, 13, 12, 95, 11])
    q1, q3 = np.percentile(d, [25, 75])
    z = (d - d.mean()) / d.std()
    return {"iqr": d[(d < q1 - 1.5 * (q3 - q1)) | (d > q3 + 1.5 * (q3 - q1))].tolist(), "z": z.round(6).tolist()}
