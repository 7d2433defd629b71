"""Returns the arguments."""


def main(args):
    """Returns the arguments and their type."""
    return {"echo": args, "type": type(args).__name__}
