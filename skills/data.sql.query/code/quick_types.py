"""Finds the types of a large CSV text with pandas' parser, in a fourth of the time that Python takes.

The result is that of `csv_table`, which looks at each value. Texts for which that is not certain are
left to it: uneven rows, numbers with zeros in front or with more digits than a float keeps, and
columns that change their type within a part.
"""

import io
import warnings

import numpy as np
import pandas as pd

INTEGER, REAL, TEXT = "INTEGER", "REAL", "TEXT"

ROWS_AT_ONCE = 100_000

# Beyond it a floating point number may lose digits of an integer.
EXACT = 10.0**15

SIGNS = np.frombuffer(b"+-", dtype=np.uint8)
# Letters of the block before that are looked at again: more blanks than anybody writes.
LOOK_BACK = 64
# Encodings in which each ASCII character is one byte that means nothing else.
ASCII_BYTES = frozenset(["utf-8", "utf-8-sig", "ascii", "cp1252", "iso8859-1"])


class Unsure(Exception):
    """The types depend on something that only a look at each value shows."""


class QuickTypes:
    """The `types` of the columns, which of them have `gaps`, and the number of `rows`."""

    def __init__(self, stream, text, width, has_header, missing):
        if text.encoding not in ASCII_BYTES:
            raise Unsure
        self._missing = missing
        self.rows = 0
        self.gaps = [False] * width
        self._kinds = [set() for _ in range(width)]
        settings = {
            "sep": text.delimiter,
            "encoding": text.encoding,
            "encoding_errors": text.errors,
            "header": 0 if has_header else None,
            "names": range(width),
            "index_col": False,
            "on_bad_lines": "error",
            "dtype_backend": "numpy_nullable",
            "chunksize": ROWS_AT_ONCE,
        }
        try:
            with warnings.catch_warnings():
                # Rows with more fields than the first are a warning or an error; both are uneven.
                warnings.simplefilter("error")
                watched = Watched(stream, text.delimiter)
                for part in pd.read_csv(watched, **settings):
                    self._look_at(part)
        except (pd.errors.ParserError, pd.errors.ParserWarning, pd.errors.DtypeWarning):
            raise Unsure from None
        self.types = [_joined(kinds) for kinds in self._kinds]
        if watched.has_codes and set(self.types) != {TEXT}:
            raise Unsure

    def _look_at(self, part):
        self.rows += len(part)
        for position, (_, column) in enumerate(part.items()):
            missing = column.isna()
            if missing.any():
                self.gaps[position] = True
                column = column[~missing]
            if len(column) and TEXT not in self._kinds[position]:
                kind = _kind(column)
                # pandas looks for nothing missing among integers of more than 64 bits.
                if kind == TEXT and not missing.any() and column.isin(self._missing).any():
                    raise Unsure
                self._kinds[position].add(kind)


class Watched(io.RawIOBase):
    """A stream that notes fields which pandas reads as numbers though something would be lost.

    `has_codes` tells of a zero in front, as in a postal code, and of white space other than blanks.
    """

    def __init__(self, stream, delimiter):
        self.has_codes = False
        self._stream = stream
        self._spaces = [space for space in (b"\t", b"\v", b"\f") if space != delimiter.encode()]
        self._begins_field = np.zeros(256, dtype=bool)
        self._begins_field[list(f'{delimiter}"\r\n'.encode())] = True
        self._tail = b"\n"

    def readable(self):
        """Always."""
        return True

    def readinto(self, buffer):
        """Reads as the stream does."""
        count = self._stream.readinto(buffer)
        if count and not self.has_codes:
            block = self._tail + bytes(memoryview(buffer)[:count])
            self.has_codes = any(space in block for space in self._spaces) or self._has_code(block)
            self._tail = block[-LOOK_BACK:]
        return count

    def _has_code(self, block):
        """Returns whether a zero and another digit begin a field, behind blanks and a sign."""
        letters = np.frombuffer(block, dtype=np.uint8)
        zeros = np.flatnonzero(letters[:-1] == ord("0"))
        next_letters = letters[zeros + 1]
        # What is before the first letter was looked at with the block before.
        before = zeros[(next_letters >= ord("0")) & (next_letters <= ord("9")) & (zeros > 0)] - 1
        is_sign = np.isin(letters[before], SIGNS)
        before = before - is_sign
        for _ in range(LOOK_BACK):
            if (before < 0).any() or self._begins_field[letters[before]].any():
                return True
            before = before[letters[before] == ord(" ")] - 1
            if not before.size:
                return False
        return True


def _kind(column):
    if pd.api.types.is_signed_integer_dtype(column.dtype):
        return INTEGER
    if pd.api.types.is_float_dtype(column.dtype):
        values = column.to_numpy(dtype=float)
        if not np.isfinite(values).all() or (np.abs(values) >= EXACT).any():
            raise Unsure
        return REAL
    if column.dtype == object:
        raise Unsure
    return TEXT


def _joined(kinds):
    return TEXT if TEXT in kinds or not kinds else REAL if REAL in kinds else INTEGER
