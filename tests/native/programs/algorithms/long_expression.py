def main(args):
    return eval("+".join(["1"] * 2000))
