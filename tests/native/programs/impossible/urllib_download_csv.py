# refused: OSError|URLError: network
import csv
import io
import urllib.request


def main(args):
    with urllib.request.urlopen("https://example.com/data.csv") as r:
        return list(csv.reader(io.TextIOWrapper(r)))
