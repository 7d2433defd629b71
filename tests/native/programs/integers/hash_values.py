def main(args):
    return [hash(True), hash(-1), hash(7), hash(2**30), hash(2.0) == hash(2), hash((1,)) == hash((1,))]
