"""Draws how the values of a column, or of the first few numeric columns, are distributed."""

import io
import math

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

MAX_PANELS = 6
MAX_BINS = 40
MAX_BARS = 20
LABEL_LETTERS = 30
ROWS_AT_ONCE = 1 << 16
INK = "#2f5d50"


def draw_overview(columns):
    """Returns a PNG with one picture for each of `columns`, at most `MAX_PANELS` of them."""
    columns = columns[:MAX_PANELS]
    across = min(len(columns), 3)
    down = math.ceil(len(columns) / across)
    figure = Figure(figsize=(max(3.2 * across, 4.8), 2.6 * down), dpi=100, layout="tight")
    for position, (name, bins, top) in enumerate(columns, start=1):
        _draw(figure.add_subplot(down, across, position), name, bins, top)
    return _as_png(figure)


def draw_column(name, bins, top):
    """Returns a PNG with the distribution of one column: its `bins`, else bars of `top` values."""
    figure = Figure(figsize=(6.4, 4.2), dpi=100, layout="tight")
    _draw(figure.add_subplot(), name, bins, top)
    return _as_png(figure)


class Bins:
    """Edges of bins, how many numbers each has, and whether all numbers are whole."""

    def __init__(self, edges, counts, are_whole):
        self.edges, self.counts, self.are_whole = edges, counts, are_whole


def bins_of(ordered):
    """Returns the bins of sorted and finite numbers: one for each whole number if there are few.

    None if floating point cannot tell the edges apart or the range is beyond it.
    """
    low, high = ordered[0], ordered[-1]
    are_whole = _are_whole(ordered)
    if are_whole and high - low < MAX_BINS:
        edges = np.arange(low, high + 2) - 0.5
    else:
        margin = 0.5 if low == high else 0.0
        count = min(MAX_BINS, max(5, math.ceil(math.sqrt(len(ordered)))))
        with np.errstate(over="ignore", invalid="ignore"):
            edges = np.linspace(low - margin, high + margin, count + 1)
    widths = np.diff(edges)
    if not len(widths) or not np.isfinite(widths).all() or not (widths > 0).all():
        return None
    # The last bin has its right edge, as in `numpy.histogram`.
    ends = [*np.searchsorted(ordered, edges[:-1]), np.searchsorted(ordered, edges[-1], "right")]
    return Bins(edges, np.diff(ends), are_whole)


def _draw(axes, name, bins, top):
    if bins is None:
        _draw_bars(axes, top)
    else:
        axes.hist(
            bins.edges[:-1],
            bins=bins.edges,
            weights=bins.counts,
            color=INK,
            edgecolor="white",
            linewidth=0.4,
        )
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=bool(bins.are_whole)))
        axes.set_ylabel("rows")
    axes.set_title(_label(name), fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _draw_bars(axes, top):
    shown = top[:MAX_BARS][::-1]
    axes.barh(range(len(shown)), [count for _, count in shown], color=INK)
    axes.set_yticks(range(len(shown)), [_label(value) for value, _ in shown])
    axes.set_xlabel("rows")


def _are_whole(numbers):
    blocks = range(0, len(numbers), ROWS_AT_ONCE)
    return all((np.mod(numbers[n : n + ROWS_AT_ONCE], 1) == 0).all() for n in blocks)


def _label(value):
    # A dollar sign would start a formula.
    text = str(value).replace("$", r"\$")
    return text if len(text) <= LABEL_LETTERS else text[: LABEL_LETTERS - 1] + "…"


def _as_png(figure):
    target = io.BytesIO()
    # Without the library's name in it, equal data gives an equal picture, hence an equal blob id.
    FigureCanvasAgg(figure).print_png(target, metadata={"Software": None})
    return target.getvalue()
