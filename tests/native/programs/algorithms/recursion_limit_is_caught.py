def countdown(n):
    return 0 if n == 0 else 1 + countdown(n - 1)


def main(args):
    out = {"ok": countdown(900)}
    try:
        countdown(10**6)
    except RecursionError as e:
        out["err"] = str(e)
    class Node:
        def __init__(self):
            self.child = self
        def __repr__(self):
            return f"Node({self.child!r})"
    try:
        repr(Node())
    except RecursionError as e:
        out["repr"] = type(e).__name__
    a = []
    a.append(a)
    out["self"] = repr(a)
    import json
    try:
        json.dumps(a)
    except ValueError as e:
        out["json"] = str(e)
    try:
        a == [a]
        b = []
        b.append(b)
        a == b
    except RecursionError as e:
        out["eq"] = type(e).__name__
    return out
