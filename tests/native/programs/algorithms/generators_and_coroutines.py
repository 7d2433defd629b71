def running():
    total = n = 0
    avg = None
    while True:
        x = yield avg
        total += x
        n += 1
        avg = total / n


def flatten(x):
    for i in x:
        if isinstance(i, list):
            yield from flatten(i)
        else:
            yield i


def with_return():
    try:
        got = yield 1
        yield got
    except ValueError as e:
        yield f"caught {e}"
    finally:
        log.append("closed")
    return "done"


log = []


def main(args):
    r = running()
    next(r)
    a = [r.send(v) for v in (10, 20, 60)]
    g = with_return()
    b = [next(g), g.send("x")]
    try:
        next(g)
    except StopIteration as e:
        b.append(e.value)
    g2 = with_return()
    next(g2)
    c = g2.throw(ValueError("boom"))
    g2.close()
    deep = []
    for _ in range(900):
        deep = [deep, 1]
    def stop():
        yield 1
        raise StopIteration
    try:
        list(stop())
    except RuntimeError as e:
        err = str(e)
    return {"a": a, "b": b, "c": c, "log": log, "flat": sum(flatten(deep)), "err": err, "primes": [p for p in range(2, 40) if all(p % q for q in range(2, p))]}
