# refused: OverflowError: C long
import array
def main(args):
    a = array.array("l", [1, 2**40])
    return [a.itemsize, a.tolist(), array.array("L", [2**63]).tolist(), array.array("q", [-1]).tobytes().hex()]
