def main(args):
    return 1 / 0
