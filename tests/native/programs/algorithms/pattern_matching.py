def main(args):
    def f(x):
        match x:
            case {"type": "circle", "r": r}: return 3.14 * r
            case [a, *rest]: return [a, len(rest)]
            case int(n) if n > 5: return "big"
            case str() | None: return "text"
            case _: return "other"
    return [f({"type": "circle", "r": 2}), f([1, 2, 3]), f(9), f("s"), f(None), f(2.5)]
