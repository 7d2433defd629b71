"""Describes one column: its type, what is missing, its distribution and its most frequent values.

Every number is the one that pandas computes on the whole column (`mean`, `std`, `quantile`,
`value_counts`); nothing is sampled or rounded.
"""

import math

import pandas as pd

from column import BOOLEAN, NUMBER

TOP_VALUES = 5
VALUE_LETTERS = 80
STATISTICS = ("mean", "std", "min", "q1", "median", "q3", "max")


def plain(value):
    """Returns `value` as something JSON has: no numpy type, no NaN, no infinity, no long text."""
    if value is None or value is pd.NaT:
        return None
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (bool, int)):
        return value
    text = str(value)
    return text if len(text) <= VALUE_LETTERS else text[: VALUE_LETTERS - 1] + "…"


def describe_column(name, column, rows):
    """Returns the profile of one column as a dict."""
    values = column.values
    if values is None:
        return {"name": name, "type": "empty", "count": 0, "missing": rows, "distinct": 0}
    kind = _type_of(column)
    found = {
        "name": name,
        "type": kind,
        "count": values.count,
        "missing": rows - values.count,
        "distinct": values.distinct,
    }
    if kind in ("integer", "number"):
        found.update(_describe_numbers(values, is_integer=kind == "integer"))
    elif kind == "boolean":
        counts = dict(values.top)
        found.update({"true": counts.get(True, 0), "false": counts.get(False, 0)})
    elif kind == "date":
        found.update(zip(("min", "max"), values.dates, strict=True))
    else:
        found.update({"min_length": values.min_length, "max_length": values.max_length})
    if values.distinct < values.count:
        convert = _whole if kind == "integer" else plain
        found["top"] = [
            {"value": convert(value), "count": count} for value, count in values.top[:TOP_VALUES]
        ]
    return found


def _type_of(column):
    if column.kinds == {BOOLEAN}:
        return "boolean"
    if column.kinds == {NUMBER}:
        return "integer" if column.values.is_integer else "number"
    return "date" if column.values.dates is not None else "text"


def _describe_numbers(values, is_integer):
    found = {key: plain(values.statistics[key]) for key in STATISTICS}
    if is_integer:
        found.update({key: _whole(values.statistics[key]) for key in ("min", "max")})
    if values.infinite:
        found["infinite"] = values.infinite
    return found


def _whole(value):
    number = plain(value)
    return number if number is None else int(number)
