"""Reads Parquet through pandas, whose engine here is Wardian's own."""

import datetime

import pandas as pd
from runtime import blobs

from value_types import TEXT, joined, kind_of_value

ROWS_AT_ONCE = 10_000


class ParquetSource:
    """A table in Parquet: `names`, `kinds`, and `parts()`, each a list of columns."""

    def __init__(self, blob_id, options):
        self.warnings = []
        self.sheet, self.sheets = None, []
        try:
            frame = pd.read_parquet(blobs.path(blob_id))
        except MemoryError:
            raise
        except Exception as error:
            raise ValueError(f"the Parquet file cannot be read: {error}") from None
        if frame.index.names != [None] or not isinstance(frame.index, pd.RangeIndex):
            frame = frame.reset_index()
        self.names = [str(name) for name in frame.columns]
        self._columns = [values_of(frame.iloc[:, n]) for n in range(len(self.names))]
        kinds = [joined(set(map(kind_of_value, column))) for column in self._columns]
        self.kinds = [
            # A column without values keeps the type that the file gives it, if it is text.
            TEXT if all(v is None for v in column) else kind
            for column, kind in zip(self._columns, kinds, strict=True)
        ]

    def parts(self):
        """Yields the rows, a few thousand at once, as columns of values."""
        count = len(self._columns[0]) if self._columns else 0
        for start in range(0, count, ROWS_AT_ONCE):
            yield [column[start : start + ROWS_AT_ONCE] for column in self._columns]


def values_of(column):
    """Returns the values of a column as Python has them, None where there is none."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    missing = column.isna()
    values = column.tolist()
    if missing.any():
        # Whole numbers with gaps were read as floats; Parquet keeps them apart, pandas does not.
        values = [None if gap else v for v, gap in zip(values, missing, strict=True)]
    return [plain(value) for value in values]


def plain(value):
    """Returns a value without pandas' and numpy's types."""
    if isinstance(value, pd.Timestamp):
        return value.to_pydatetime(warn=False)
    if isinstance(value, (pd.Timedelta, datetime.timedelta)):
        return str(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    return value
