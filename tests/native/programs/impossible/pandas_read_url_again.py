# refused: OSError|URLError: network
import pandas as pd


def main(args):
    return pd.read_csv("https://example.com/data.csv").shape
