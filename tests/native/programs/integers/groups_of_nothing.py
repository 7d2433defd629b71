import pandas as pd


def main(args):
    nothing = pd.Series([], dtype=float)
    frame = pd.DataFrame({"a": [], "b": []})
    return {
        "sum": repr(nothing.groupby([]).sum().index),
        "size": repr(nothing.groupby([]).size().index),
        "frame": repr(frame.groupby([]).sum().index),
        "keys": [repr(frame.groupby(key).size().index) for key in ("a", ["a", "b"])],
    }
