def main(args):
    return [hash(2**40), hash(10**20), hash(1.5), hash((1, 2, 3)), hash(frozenset([1, 2])), hash(True), hash(-1), hash(0.1)]
