"""Describes the numbers of a column, with the very results of pandas for the whole column.

pandas makes up to four copies of a column for its statistics; here there is one.
"""

import math

import numpy as np
import pandas as pd

from histogram import bins_of
from ranking import Ranking
from row_hashes import MISSING, mixed
from shelf import Kept

SHOWN = 20
ROWS_AT_ONCE = 1 << 16

# Beyond it a floating point number does not have every whole one.
EXACT = 1 << 53
LARGE_KEY = np.uint64(0x9E37_79B9_7F4A_7C15)


class NumberValues:
    """The numbers of a column, and what is known of them once they are settled.

    `as_floats` says that the whole column is of floating point numbers.
    """

    def __init__(self, shelf, as_floats):
        self.count = 0
        self.has_large = False
        self.kept = Kept(shelf)
        self._as_floats = as_floats

    def take(self, column):
        """Keeps a part, and returns an identity for each field: equal for equal values."""
        values = column.to_numpy()
        present = values[~np.isnan(values)] if values.dtype.kind == "f" else values
        self.count += len(present)
        self.kept.put(present)
        return self._identities(values)

    def take_again(self, column):
        """Keeps a part of a column that was given up."""
        values = column.to_numpy()
        self.kept.put(values[~np.isnan(values)] if values.dtype.kind == "f" else values)

    def settle(self, dtype, has_gaps):
        """Describes the numbers as a column of the type `dtype`."""
        values = self.kept.joined(dtype)
        self.is_integer = dtype.kind != "f" or (has_gaps and _are_whole(values))
        whole = pd.Series(values, copy=False)
        self.statistics = {"mean": whole.mean(), "min": whole.min(), "max": whole.max()}
        del whole
        self.statistics["std"] = _deviation(values)
        # What is left there are squares.
        del values
        values = self.kept.joined(dtype)
        values.sort()
        finite = _finite(values)
        self.infinite = len(values) - len(finite)
        self.is_drawable = len(finite) > 0
        del finite
        ranking = Ranking(values)
        self.distinct = len(ranking)
        self.top = ranking.top(SHOWN, lambda: self._blocks(dtype))
        del ranking
        with np.errstate(invalid="ignore"):
            quartiles = np.percentile(values, [25.0, 50.0, 75.0], overwrite_input=True)
        # Which zero stands in the middle depends on the order; this makes 0.0 of -0.0.
        quartiles += 0.0
        self.statistics |= dict(zip(("q1", "median", "q3"), quartiles, strict=True))
        # The percentiles have moved a few numbers; this sort sees quickly what is in order.
        values.sort(kind="stable")
        self.bins = bins_of(_finite(_as_floats(values))) if self.is_drawable else None
        self.kept.clear()

    def _blocks(self, dtype):
        for block in self.kept.blocks():
            yield block.astype(dtype, copy=False)

    def _identities(self, values):
        """Returns what is equal for equal numbers, whether pandas keeps them whole or not."""
        # Adding zero makes 0.0 of -0.0.
        floats = values.astype(np.float64) + 0.0
        bits = floats.view(np.uint64)
        if values.dtype.kind == "f":
            bits[np.isnan(floats)] = MISSING
        elif not self._as_floats:
            is_large = np.abs(floats) >= EXACT
            if is_large.any():
                self.has_large = True
                bits[is_large] = mixed(values[is_large].astype(np.uint64) ^ LARGE_KEY)
        return bits


def _as_floats(values):
    """Returns `values` as floating point numbers, in the same memory."""
    floats = values.view(np.float64)
    if values.dtype.kind != "f":
        for start in range(0, len(values), ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            floats[some] = values[some].astype(np.float64)
    return floats


def _deviation(values):
    """Returns what `Series.std` does, in the memory of `values`, which are lost."""
    if len(values) < 2:
        return math.nan
    with np.errstate(invalid="ignore", over="ignore"):
        floats = _as_floats(values)
        np.subtract(floats.sum() / len(floats), floats, out=floats)
        floats *= floats
        return math.sqrt(floats.sum() / (len(floats) - 1))


def _are_whole(values):
    blocks = range(0, len(values), ROWS_AT_ONCE)
    with np.errstate(invalid="ignore"):
        return all((np.mod(values[n : n + ROWS_AT_ONCE], 1) == 0).all() for n in blocks)


def _finite(ordered):
    """Returns the finite ones of sorted numbers."""
    if ordered.dtype.kind != "f":
        return ordered
    low = np.searchsorted(ordered, -np.inf, "right")
    return ordered[low : np.searchsorted(ordered, np.inf, "left")]
