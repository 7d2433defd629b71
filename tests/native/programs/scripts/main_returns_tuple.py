def main(args):
    return (1, "a", None)
