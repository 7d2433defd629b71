def main(args):
    print("only printed")
