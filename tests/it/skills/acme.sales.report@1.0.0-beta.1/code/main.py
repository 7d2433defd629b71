"""Adds up sales."""

from utils import label

VERSION = "1.0.0-beta.1"


def main(args):
    """Returns the total of `args["amounts"]`."""
    total = sum(args.get("amounts", []))
    return {"summary": label("total", total), "total": total, "version": VERSION}
