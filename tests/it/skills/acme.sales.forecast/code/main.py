"""Says what sales will be."""

import utils


def main(args):
    """Returns twice what was."""
    return {"summary": utils.label("next year", 2 * args["last"])}
