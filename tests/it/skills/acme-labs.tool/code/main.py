"""Returns a constant."""

ANSWER = 42


def main(args):
    """Returns it."""
    return ANSWER
