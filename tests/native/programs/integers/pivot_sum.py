import pandas as pd
def main(args):
    df = pd.DataFrame({"r": list("aabb"), "c": list("xyxy"), "v": [2_000_000_000, 3, 4_000_000_000, 5]})
    p = df.pivot_table(index="r", columns="c", values="v", aggfunc="sum", margins=True)
    return p.to_dict()
