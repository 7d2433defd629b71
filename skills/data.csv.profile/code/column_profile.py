"""Describes one column: its type, what is missing, its distribution and its most frequent values.

Every number is the one that pandas computes on the whole column (`mean`, `std`, `quantile`,
`value_counts`); nothing is sampled or rounded.
"""

import math
import re

import pandas as pd

TOP_VALUES = 5
VALUE_LETTERS = 80

DATE = re.compile(
    r"\d{4}([-/])\d{2}\1\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
)
DATE_SAMPLE = 200


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


def describe_column(name, column):
    """Returns the profile of one column as a dict."""
    values = column.dropna()
    counts = values.value_counts()
    found = {
        "name": name,
        "type": _type_of(values, len(column), counts),
        "count": len(values),
        "missing": len(column) - len(values),
        "distinct": len(counts),
    }
    if found["type"] in ("integer", "number"):
        found.update(_describe_numbers(values, is_integer=found["type"] == "integer"))
    elif found["type"] == "boolean":
        found.update({"true": int(values.sum()), "false": int((~values.astype(bool)).sum())})
    elif found["type"] == "date":
        found.update(_describe_dates(counts.index))
    elif found["type"] == "text":
        lengths = counts.index.str.len()
        found.update({"min_length": int(lengths.min()), "max_length": int(lengths.max())})
    if 0 < found["distinct"] < found["count"]:
        whole = found["type"] == "integer"
        found["top"] = [
            {"value": _whole(value) if whole else plain(value), "count": int(count)}
            for value, count in counts.head(TOP_VALUES).items()
        ]
    return found


def _type_of(values, row_count, counts):
    if values.empty:
        return "empty"
    if pd.api.types.is_bool_dtype(values.dtype) or values.dtype == object:
        return "boolean"
    if pd.api.types.is_integer_dtype(values.dtype):
        return "integer"
    if pd.api.types.is_float_dtype(values.dtype):
        # pandas keeps whole numbers as floats only because something is missing between them.
        has_gaps = len(values) < row_count
        return "integer" if has_gaps and values.mod(1).eq(0).all() else "number"
    return "date" if _are_dates(counts.index) else "text"


def _are_dates(distinct):
    if not all(DATE.fullmatch(text) for text in distinct[:DATE_SAMPLE]):
        return False
    return _parse_dates(distinct) is not None


def _parse_dates(distinct):
    try:
        return pd.to_datetime(distinct.str.replace("/", "-"), format="ISO8601", utc=True)
    except (ValueError, OverflowError):
        return None


def _describe_dates(distinct):
    moments = _parse_dates(distinct)
    return {"min": distinct[moments.argmin()], "max": distinct[moments.argmax()]}


def _describe_numbers(values, is_integer):
    quartiles = values.quantile([0.25, 0.5, 0.75])
    smallest, largest = values.min(), values.max()
    found = {
        "mean": plain(values.mean()),
        "std": plain(values.std()),
        "min": _whole(smallest) if is_integer else plain(smallest),
        "q1": plain(quartiles.iloc[0]),
        "median": plain(quartiles.iloc[1]),
        "q3": plain(quartiles.iloc[2]),
        "max": _whole(largest) if is_integer else plain(largest),
    }
    infinite = int(values.isin([math.inf, -math.inf]).sum())
    if infinite:
        found["infinite"] = infinite
    return found


def _whole(value):
    number = plain(value)
    return number if number is None else int(number)
