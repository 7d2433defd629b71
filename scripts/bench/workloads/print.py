"""One line of output."""


def main(args):
    print("hello")
    return 1
