"""Adds up sales."""

from utils import label

VERSION = "0.2.0"


def main(args):
    """Returns the total of `args["amounts"]`."""
    total = sum(args.get("amounts", []))
    return {"summary": label("total", total), "total": total, "version": VERSION}
