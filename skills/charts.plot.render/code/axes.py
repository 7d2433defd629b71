"""Axes: scales, limits, labels and ticks."""

import datetime

import matplotlib.dates as mdates
from matplotlib.ticker import MaxNLocator

CROWDED = 8
LONG_LABEL = 10
TICKS_MOST = 40


def name_axes(axes, args, x_name, y_name):
    """Writes labels and the title."""
    axes.set_xlabel(args.get("x_label") if args.get("x_label") is not None else x_name or "")
    axes.set_ylabel(args.get("y_label") if args.get("y_label") is not None else y_name or "")
    if args.get("title"):
        axes.set_title(args["title"], wrap=True)


def scale_axes(axes, args, series_values, x_values):
    """Makes axes logarithmic and sets their limits."""
    if args.get("log_x"):
        refuse_log("log_x", x_values)
        axes.set_xscale("log")
    if args.get("log_y"):
        refuse_log("log_y", series_values)
        axes.set_yscale("log")
    limits = {key: args.get(key) for key in ("x_min", "x_max", "y_min", "y_max")}
    for axis in "xy":
        low, high = limits[f"{axis}_min"], limits[f"{axis}_max"]
        if low is not None and high is not None and low >= high:
            raise ValueError(f"`{axis}_min` must be below `{axis}_max`")
        if args.get(f"log_{axis}") and ((low is not None and low <= 0) or (high or 1) <= 0):
            raise ValueError(f"`{axis}_min` and `{axis}_max` must be above 0 with `log_{axis}`")
    if limits["x_min"] is not None or limits["x_max"] is not None:
        if any(isinstance(value, (str, datetime.datetime)) for value in x_values[:1]):
            raise ValueError("`x_min` and `x_max` are for an axis of numbers")
        axes.set_xlim(limits["x_min"], limits["x_max"])
    if limits["y_min"] is not None or limits["y_max"] is not None:
        axes.set_ylim(limits["y_min"], limits["y_max"])


def refuse_log(argument, values):
    """Raises `ValueError` for values that a logarithmic axis cannot show."""
    if any(isinstance(value, (str, datetime.datetime)) for value in values):
        raise ValueError(f"`{argument}` is for an axis of numbers")
    below = [value for value in values if value <= 0]
    if below:
        raise ValueError(f"`{argument}` needs values above 0; there is {below[0]:g}")


def tick_numbers(axis, values):
    """Keeps fractions away from an axis of whole numbers such as years."""
    if values and all(isinstance(value, int) for value in values):
        axis.set_major_locator(MaxNLocator(nbins="auto", integer=True))


def tick_dates(axis):
    """Shows dates no longer than they have to be."""
    locator = mdates.AutoDateLocator()
    axis.set_major_locator(locator)
    axis.set_major_formatter(mdates.ConciseDateFormatter(locator))


def tick_names(axes, places, names, *, is_vertical=False):
    """Writes names at their places, aslant if they are many, and not all if they are too many."""
    step = -(-len(names) // TICKS_MOST)
    places, names = list(places)[::step], [str(name) for name in names][::step]
    if is_vertical:
        axes.set_yticks(places, names)
        return
    axes.set_xticks(places, names)
    if len(names) > CROWDED or max(map(len, names), default=0) > LONG_LABEL:
        for label in axes.get_xticklabels():
            label.set(rotation=40, ha="right", rotation_mode="anchor")


def text_of(value):
    """Returns a value of `x` as a label."""
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ")
    return f"{value:g}" if isinstance(value, float) else str(value)


def short_number(value):
    """Returns a number as it is written on bars."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}"
