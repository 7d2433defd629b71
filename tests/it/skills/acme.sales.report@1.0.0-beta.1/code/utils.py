"""How the report says things; the forecast has a file of the same name."""


def label(name, value):
    """Returns a sentence."""
    return f"report: {name} is {value}"
