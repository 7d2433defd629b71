"""Greets: the smallest skill that can be executed."""

from runtime import log


def main(args):
    """Returns a greeting for `args["name"]`."""
    greeting = f"Hello, {args.get('name', 'world')}!"
    log.info(greeting)
    return {"summary": greeting, "greeting": greeting}
