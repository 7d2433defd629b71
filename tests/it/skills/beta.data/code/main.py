"""Returns nothing."""


def main(args):
    """Returns nothing."""
