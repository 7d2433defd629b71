import pandas as pd, numpy as np
def main(args):
    df = pd.DataFrame({"g": list("aabb"), "v": [1., 2, 3, 4], "w": [1, 3, 1, 1]})
    return df.groupby("g").apply(lambda d: np.average(d.v, weights=d.w), include_groups=False).to_dict()
