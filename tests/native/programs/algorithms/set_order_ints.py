def main(args):
    return [list({5, 1, 3}), list({10, 100, 1000}), list(dict.fromkeys("banana"))]
