"""Cuts the data into the series that a chart shows, and adds up what has the same `x`."""

import math
import statistics

from chart_data import NUMBERS

MAX_SERIES = 30

AGGREGATES = {
    "sum": math.fsum,
    "mean": statistics.fmean,
    "median": statistics.median,
    "min": min,
    "max": max,
    "count": len,
}


class Series:
    """A name with `x` and `y` of equal length."""

    def __init__(self, name, x, y):
        self.name = name
        self.x = x
        self.y = y


def choose_y(data, args, *, but=()):
    """Returns the columns of `y`: the ones that are named, else all columns of numbers."""
    wanted = args.get("y")
    if wanted in (None, "", []):
        found = [n for n, kind in data.kinds.items() if kind == NUMBERS and n not in but]
        if not found:
            known = ", ".join(f"`{n[:60]}` ({k})" for n, k in list(data.kinds.items())[:50])
            raise ValueError(f"there is no column of numbers to draw; columns: {known}")
    elif isinstance(wanted, str):
        found = [data.find(wanted, "y")]
    elif isinstance(wanted, list) and all(isinstance(name, str) for name in wanted):
        found = [data.find(name, "y") for name in wanted]
    else:
        raise ValueError("`y` must be the name of a column, or an array of names")
    if len(found) > MAX_SERIES:
        raise ValueError(f"there are {len(found)} series; name up to {MAX_SERIES} columns as `y`")
    return found


def read_series(data, args):
    """Returns the column of `x` or None, and the series."""
    x_name = data.find(args["x"], "x") if args.get("x") else None
    group = data.find(args["group"], "group") if args.get("group") else None
    if args.get("aggregate") == "count" and not args.get("y"):
        columns = {"count": [1.0] * data.row_count}
    else:
        names = choose_y(data, args, but=(x_name, group))
        columns = {name: data.numbers(name, "y") for name in names}
    x = data.columns[x_name] if x_name else list(range(1, data.row_count + 1))
    if group is None:
        return x_name, [Series(name, list(x), values) for name, values in columns.items()]
    keys = [str(key) for key in dict.fromkeys(data.columns[group]) if key is not None]
    if len(keys) * len(columns) > MAX_SERIES:
        raise ValueError(
            f"column `{group}` for `group` has {len(keys)} different values; {MAX_SERIES} series "
            "can be drawn"
        )
    rows = {key: [] for key in keys}
    for n, key in enumerate(data.columns[group]):
        if key is not None:
            rows[str(key)].append(n)
    found = []
    for name, values in columns.items():
        for key in keys:
            label = key if len(columns) == 1 else f"{key}, {name}"
            chosen = rows[key]
            found.append(Series(label, [x[n] for n in chosen], [values[n] for n in chosen]))
    return x_name, found


def drop_missing(series):
    """Removes points without `x` or `y`, and returns how many there were."""
    dropped = 0
    for one in series:
        kept = [
            (a, b) for a, b in zip(one.x, one.y, strict=True) if a is not None and not math.isnan(b)
        ]
        dropped += len(one.x) - len(kept)
        one.x, one.y = [a for a, _ in kept], [b for _, b in kept]
    return dropped


def aggregate(series, how, x_name):
    """Makes one point of those with the same `x`; raises `ValueError` without a word how."""
    for one in series:
        together = {}
        for a, b in zip(one.x, one.y, strict=True):
            together.setdefault(a, []).append(b)
        if how is None and len(together) < len(one.x):
            again = next(a for a, values in together.items() if len(values) > 1)
            raise ValueError(
                f"column `{x_name}` has several rows for `{again}`: pass `aggregate` (`sum`, "
                "`mean`, `count`, …), or a `group`"
            )
        if how is not None:
            one.x = list(together)
            one.y = [AGGREGATES[how](values) for values in together.values()]


def table_of(series):
    """Returns all values of `x` in their order, and a row of values for each series."""
    order = list(dict.fromkeys(a for one in series for a in one.x))
    rows = []
    for one in series:
        known = dict(zip(one.x, one.y, strict=True))
        rows.append([known.get(a, math.nan) for a in order])
    return order, rows


def sorted_table(order, rows, how):
    """Returns the same table in another order."""
    if how == "none":
        return order, rows
    totals = [
        math.fsum(v for v in column if not math.isnan(v)) for column in zip(*rows, strict=True)
    ]
    places = list(range(len(order)))
    if how == "x":
        is_mixed = len({isinstance(value, str) for value in order}) > 1
        places.sort(key=lambda n: str(order[n]) if is_mixed else order[n])
    else:
        places.sort(key=lambda n: totals[n], reverse=how == "descending")
    return [order[n] for n in places], [[row[n] for n in places] for row in rows]


def is_named(values):
    """Returns whether an axis shows names."""
    return any(isinstance(value, str) for value in values)
