def main(args):
    e = None
    for i in range(20000):
        n = ValueError(i)
        n.__context__ = e
        e = n
    e = None
    return "ok"
