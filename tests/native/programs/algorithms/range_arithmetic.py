def main(args):
    r = range(0, 10**12, 7)
    s = range(10**6)
    return {"in": 7 * 10**10 in r, "idx": r.index(7 * 10**9), "item": r[-1], "slice": str(r[10**10:10**10 + 3]), "eq": range(0, 3, 2) == range(0, 4, 2), "rev": list(reversed(s[-3:])), "bool": bool(r), "count": r.count(14), "start": r.start, "len": len(s), "attrs": [r.stop, r.step], "hash": hash(range(3)) == hash(range(3))}
