"""How the forecast says things; the report has a file of the same name."""


def label(name, value):
    """Returns a sentence."""
    return f"forecast: {name} is {value}"
