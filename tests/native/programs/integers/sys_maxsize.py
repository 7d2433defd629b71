import sys
def main(args):
    best = sys.maxsize
    for v in [3_000_000_000, 5_000_000_000]:
        best = min(best, v)
    return {"maxsize": sys.maxsize, "best": best}
