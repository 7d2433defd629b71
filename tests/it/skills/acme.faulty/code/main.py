"""Fails in a file beside its entrypoint."""

from helper import divide


def main(args):
    """Divides by zero."""
    print("before")
    return {"quotient": divide(1, args.get("by", 0))}
