"""Reads a table of 2,000 rows and describes a column, with the standard library alone."""

import csv
import io
import statistics


def main(args):
    lines = ["city,people"]
    lines += ["city " + str(i % 50) + "," + str(i * 7919 % 10007) for i in range(2000)]
    people = [int(row["people"]) for row in csv.DictReader(io.StringIO("\n".join(lines)))]
    return {
        "mean": round(statistics.mean(people), 6),
        "deviation": round(statistics.stdev(people), 6),
        "quartiles": [round(cut, 6) for cut in statistics.quantiles(people)],
    }
