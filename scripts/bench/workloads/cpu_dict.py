"""Counts with a dictionary."""


def main(args):
    counts = {}
    for i in range(300000):
        key = "k" + str(i * 31 % 5003)
        counts[key] = counts.get(key, 0) + 1
    return [len(counts), counts["k31"]]
