from concurrent.futures import ProcessPoolExecutor

counter = 0
seen = []


def bump(x):
    global counter
    counter += x
    seen.append(x)
    return counter > 0


def grow(lst):
    lst.append(99)
    return len(lst)


def main(args):
    data = [1, 2]
    with ProcessPoolExecutor(2) as ex:
        ok = list(ex.map(bump, [1, 2, 3]))
        n = ex.submit(grow, data).result()
    return {"ok": ok, "counter": counter, "seen": seen, "data": data, "n": n}
