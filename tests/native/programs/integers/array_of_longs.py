# refused: OverflowError: array.array('q')
import array


def main(args):
    totals = array.array("l", [0] * 4)
    for k in range(4):
        totals[k] += (k + 1) * 1_000_000_000
    more = array.array("L", [1, 2, 3])
    return {"totals": totals.tolist(), "sum": sum(totals), "L": more.tolist()}
