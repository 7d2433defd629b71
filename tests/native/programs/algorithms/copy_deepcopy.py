import copy
def main(args):
    a = [1, [2, 3]]; a.append(a)
    b = copy.deepcopy(a)
    x = {}
    y = x
    for _ in range(200):
        y["k"] = {}; y = y["k"]
    return [b[2] is b, b[1] is not a[1], copy.deepcopy(x) == x]
