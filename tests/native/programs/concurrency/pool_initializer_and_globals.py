from multiprocessing import Pool

table = None


def setup(factor):
    global table
    table = {i: i * factor for i in range(5)}


def look(k):
    return table[k]


def main(args):
    with Pool(2, initializer=setup, initargs=(10,)) as p:
        r = p.map(look, [1, 2, 4])
    return {"r": r, "parent": table}
