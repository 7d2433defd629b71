"""One column of a table that is read part by part: which types its parts have, and its values."""

import numpy as np
import pandas as pd

from number_values import NumberValues
from row_hashes import MISSING
from text_values import TextValues

# What the fields of a part are. Odd ones are those that pandas itself gives no single type.
GAP, NUMBER, BOOLEAN, TEXT, ODD = "gap", "number", "boolean", "text", "odd"


class Column:
    """A column: the `kinds` of its parts, and their values."""

    def __init__(self, position, shelf, as_floats):
        self.position = position
        self.kinds = set()
        self.values = None
        self._shelf = shelf
        self._as_floats = as_floats
        self._dtypes = set()

    def look_at(self, part):
        """Notes the type of a part."""
        self._dtypes.add(part.dtype)
        kind = kind_of(part)
        if kind != GAP:
            self.kinds.add(kind)
        return kind

    def take(self, part):
        """Takes a part, and returns an identity for each field: equal for equal values.

        None if the part does not fit to the ones before.
        """
        if self.look_at(part) == GAP:
            return np.full(len(part), MISSING)
        if self.is_mixed():
            return None
        if self.values is None:
            self.values = self._new_values()
        return self.values.take(part)

    def is_mixed(self):
        """Returns whether no single type fits all parts, so that all of them are text."""
        return len(self.kinds) > 1 or ODD in self.kinds or self.dtype() is None

    def must_be_floats(self):
        """Returns whether large whole numbers were taken for distinct ones that are not."""
        if self.kinds != {NUMBER} or self._as_floats:
            return False
        return self.dtype().kind == "f" and (self.values is None or self.values.has_large)

    def dtype(self):
        """Returns the type that pandas gives to numbers of all parts' types, None if none."""
        if self.kinds != {NUMBER}:
            return np.dtype(object)
        if len(self._dtypes) == 1:
            (dtype,) = self._dtypes
        else:
            dtype = pd.concat([pd.Series(np.zeros(1, dtype=d)) for d in self._dtypes]).dtype
        return None if dtype == object else dtype

    def settle(self, rows):
        """Describes the values as far as that is possible without a look into the file."""
        if self.kinds == {NUMBER}:
            self.values.settle(self.dtype(), has_gaps=self.values.count < rows)
        elif self.values is not None:
            self.values.settle()

    def _new_values(self):
        (kind,) = self.kinds
        if kind == NUMBER:
            return NumberValues(self._shelf, self._as_floats)
        return TextValues(self._shelf) if kind == TEXT else BooleanValues()


class BooleanValues:
    """How often a column is true and false."""

    kept = None

    def __init__(self):
        self.count = 0
        self._counts = {}

    def take(self, part):
        """Counts a part, and returns an identity for each field."""
        is_missing = part.isna().to_numpy()
        is_true = part.to_numpy() == True  # noqa: E712 - an array of objects
        present = is_true[~is_missing]
        true = int(np.count_nonzero(present))
        counts = {True: true, False: len(present) - true}
        first = bool(present[0])
        for value in (first, not first):
            if counts[value]:
                self._counts[value] = self._counts.get(value, 0) + counts[value]
        self.count += len(present)
        identities = is_true.astype(np.uint64)
        identities[is_missing] = MISSING
        return identities

    def settle(self):
        """Puts the more frequent value first."""
        self.top = sorted(self._counts.items(), key=lambda pair: pair[1], reverse=True)
        self.distinct = len(self.top)


def kind_of(part):
    """Returns what the fields of a part are."""
    if part.dtype == bool:
        return BOOLEAN
    if pd.api.types.is_numeric_dtype(part.dtype):
        is_gap = part.dtype.kind == "f" and bool(np.isnan(part.to_numpy()).all())
        return GAP if is_gap else NUMBER
    if part.dtype != object:
        return GAP if part.isna().all() else TEXT
    present = part.dropna()
    if present.empty:
        return GAP
    return BOOLEAN if present.map(type).eq(bool).all() else ODD
