"""Draws how the values of a column, or of the first few numeric columns, are distributed."""

import io
import math

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

MAX_PANELS = 6
MAX_BINS = 40
MAX_BARS = 20
LABEL_LETTERS = 30
INK = "#2f5d50"


def draw_overview(columns):
    """Returns a PNG with one histogram for each of `columns`, at most `MAX_PANELS` of them."""
    columns = columns[:MAX_PANELS]
    across = min(len(columns), 3)
    down = math.ceil(len(columns) / across)
    figure = Figure(figsize=(max(3.2 * across, 4.8), 2.6 * down), dpi=100, layout="tight")
    for position, (name, values) in enumerate(columns, start=1):
        _draw(figure.add_subplot(down, across, position), name, values)
    return _as_png(figure)


def draw_column(name, values):
    """Returns a PNG with the distribution of one column: bars for text, a histogram for numbers."""
    figure = Figure(figsize=(6.4, 4.2), dpi=100, layout="tight")
    _draw(figure.add_subplot(), name, values)
    return _as_png(figure)


def is_numeric(values):
    """Returns whether a column can have a histogram: numbers, of which at least one is finite."""
    is_number = pd.api.types.is_numeric_dtype(values.dtype)
    if not is_number or pd.api.types.is_bool_dtype(values.dtype):
        return False
    return bool(np.isfinite(values.to_numpy(dtype=float)).any())


def _draw(axes, name, values):
    edges = _edges(values) if is_numeric(values) else None
    if edges is None:
        _draw_bars(axes, values)
    else:
        numbers = values.to_numpy(dtype=float)
        axes.hist(numbers, bins=edges, color=INK, edgecolor="white", linewidth=0.4)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=bool(_are_whole(numbers))))
        axes.set_ylabel("rows")
    axes.set_title(_label(name), fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _draw_bars(axes, values):
    counts = values.dropna().value_counts().head(MAX_BARS)[::-1]
    axes.barh(range(len(counts)), counts.to_numpy(), color=INK)
    axes.set_yticks(range(len(counts)), [_label(value) for value in counts.index])
    axes.set_xlabel("rows")


def _edges(values):
    """Returns the edges of bins: one for each whole number if there are few, else equal widths.

    None if floating point cannot tell the edges apart or the range is beyond it.
    """
    numbers = values.to_numpy(dtype=float)
    numbers = numbers[np.isfinite(numbers)]
    low, high = numbers.min(), numbers.max()
    if _are_whole(numbers) and high - low < MAX_BINS:
        edges = np.arange(low, high + 2) - 0.5
    else:
        margin = 0.5 if low == high else 0.0
        count = min(MAX_BINS, max(5, math.ceil(math.sqrt(len(numbers)))))
        with np.errstate(over="ignore", invalid="ignore"):
            edges = np.linspace(low - margin, high + margin, count + 1)
    widths = np.diff(edges)
    return edges if np.isfinite(widths).all() and (widths > 0).all() else None


def _are_whole(numbers):
    numbers = numbers[np.isfinite(numbers)]
    return np.equal(np.mod(numbers, 1), 0).all()


def _label(value):
    # A dollar sign would start a formula.
    text = str(value).replace("$", r"\$")
    return text if len(text) <= LABEL_LETTERS else text[: LABEL_LETTERS - 1] + "…"


def _as_png(figure):
    target = io.BytesIO()
    # Without the library's name in it, equal data gives an equal picture, hence an equal blob id.
    FigureCanvasAgg(figure).print_png(target, metadata={"Software": None})
    return target.getvalue()
