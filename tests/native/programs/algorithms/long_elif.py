def main(args):
    src = "def f(x):\n    if x == 0: return 0\n" + "".join(f"    elif x == {i}: return {i}\n" for i in range(1, 200))
    ns = {}
    exec(src, ns)
    return ns["f"](199)
