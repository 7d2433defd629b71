# refused: ImportError: name no engine
import io

import pandas as pd


def main(args):
    frame = pd.read_csv(io.StringIO("a,b\n1,2\n3,4\n"), engine="pyarrow")
    return frame.sum().to_dict()
