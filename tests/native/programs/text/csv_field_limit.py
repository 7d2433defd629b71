import csv
import sys


def main(args):
    seen = [csv.field_size_limit(), csv.field_size_limit(sys.maxsize), csv.field_size_limit()]
    rows = list(csv.reader(["a," + "x" * 200_000]))
    seen += [csv.field_size_limit(10), csv.field_size_limit()]
    try:
        list(csv.reader(["x" * 20]))
    except csv.Error as error:
        seen.append(str(error))
    return [seen, len(rows[0][1])]
