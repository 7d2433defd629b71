def main(args):
    t = {}
    for w in ("car", "cart", "dog"):
        n = t
        for c in w: n = n.setdefault(c, {})
        n["$"] = True
    def walk(n, p=""):
        for k, v in n.items():
            if k == "$": yield p
            else: yield from walk(v, p + k)
    return sorted(walk(t))
