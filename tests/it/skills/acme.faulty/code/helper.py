"""Divides."""


def divide(one, other):
    """Returns the quotient."""
    return one / other
