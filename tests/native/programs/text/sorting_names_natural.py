import re
from functools import cmp_to_key
from itertools import groupby
from operator import attrgetter, itemgetter


def natural(s):
    return [int(t) if t.isdigit() else t.lower() for t in re.split(r"(\d+)", s)]


def main(args):
    files = ["img12.png", "img10.png", "IMG2.png", "img1.png", "a1b10", "a1b9"]
    people = [("Bo", 30), ("al", 25), ("Cy", 30), ("Di", 25)]
    by = {k: [p[0] for p in g] for k, g in groupby(sorted(people, key=itemgetter(1)), key=itemgetter(1))}
    return {"nat": sorted(files, key=natural), "by": by, "multi": sorted(people, key=lambda p: (-p[1], p[0].lower())), "cmp": sorted([3, 1, 2], key=cmp_to_key(lambda a, b: b - a)), "rev": sorted(people, key=itemgetter(1), reverse=True), "mixed": sorted([1, 2.5, True, 0.1]), "nested": sorted([[2], [1, 5], [1]]), "strs": sorted(["é", "z", "E", "_", "1"]),
            "min": min(people, key=itemgetter(1)), "zip": list(zip("ab", [1, 2, 3])), "err": _err()}


def _err():
    try:
        sorted([1, "a"])
    except TypeError as e:
        return str(e)
