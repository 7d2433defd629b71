import functools
def main(args):
    log = []
    def deco(f):
        @functools.wraps(f)
        def w(*a, **k):
            log.append(f.__name__)
            return f(*a, **k)
        return w
    @deco
    def add(a, b=2): return a + b
    return [add(1), add(1, b=5), log, add.__name__, functools.reduce(lambda a, b: a * b, range(1, 6))]
