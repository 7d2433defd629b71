"""Reads a CSV blob part by part, as `pandas.read_csv` does, and says what is wrong with it.

A part has the rows that pandas itself converts at once when it reads a whole file. So each part has
the types that it has there, and the types of the parts tell that of the whole column.
"""

import io
import re
import warnings

import pandas as pd
from runtime import blobs

from csv_text import CsvText

# Numbers as pandas reads them; a header made of them is more likely a first row of data.
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?(\.\d+)?")

# pandas converts the largest power of two of rows that has fewer fields than this.
FIELDS_AT_ONCE = 1 << 20
# Rows so long that a part would have more bytes than this come in smaller parts.
MOST_PART_BYTES = 16 << 20


class CsvParts:
    """A CSV blob as parts: its columns' `names`, and what a reader of its numbers has to know.

    `skipped_rows` is known once all parts were read.
    """

    def __init__(self, blob_id, options):
        with blobs.open(blob_id, "rb") as stream:
            self.text = CsvText(stream, options.get("encoding"), options.get("delimiter"))
            self._size = stream.seek(0, io.SEEK_END)
        self.warnings = list(self.text.warnings)
        self.skipped_rows = 0
        self.column_count = 0
        self.names = []
        self._first_skipped = None
        self._position = self._rows = 0
        self._blob_id = blob_id
        self._unnamed = 0
        self._is_cut = False
        self._settings = {
            "sep": self.text.delimiter,
            "encoding": self.text.encoding,
            "encoding_errors": self.text.errors,
            "header": "infer" if options.get("header", True) else None,
            "decimal": options.get("decimal") or ".",
            "on_bad_lines": "warn",
        }
        if self.text.is_blank:
            self.warnings.append("the file is empty")
        else:
            self._settle_columns(options.get("max_columns", 100))

    def parts(self, columns=None, as_text=()):
        """Yields the rows as data frames whose columns are called by their positions.

        `columns` are the positions to read, all by default; those of `as_text` are read as text.
        """
        if not self.names:
            return
        settings = {"chunksize": self._rows_at_once()}
        if self._unnamed:
            # Named, they are columns like all others.
            settings |= {"names": self._positions(), "header": 0}
        if as_text:
            settings["dtype"] = dict.fromkeys(as_text, str)
        if columns is not None and self._can_choose():
            settings["usecols"] = columns
        elif self._is_cut:
            settings["usecols"] = range(len(self.names))
        is_whole = columns is None
        if is_whole:
            self.skipped_rows = 0
        for part in self._read(is_whole, settings):
            part.columns = columns if len(part.columns) != len(self.names) else self._positions()
            if len(part):
                yield part if is_whole else part[list(columns)]

    def rows_to_come(self, rows):
        """Returns about how many rows the part with these `rows` and all that follow it have."""
        if not 0 < self._position < self._size:
            return rows
        # The reader is a little ahead of its rows.
        whole = int(self._rows / self._position * self._size * 1.02)
        return max(rows, whole - self._rows + rows)

    def _can_choose(self):
        """Returns whether a reader of some columns sees the same rows.

        It does not see which ones have too many fields. Without a header it refuses parts all of
        whose rows are too short.
        """
        return bool(self._settings["header"]) and (self._is_cut or not self.skipped_rows)

    def all_warnings(self, mixed_names):
        """Returns the warnings; `mixed_names` are the columns that fit no single type."""
        found = list(self.warnings)
        if self.skipped_rows:
            found.append(
                f"{self.skipped_rows} rows were skipped because they have more fields than the "
                f"header (first: {self._first_skipped or 'too many fields'})"
            )
        if self._is_cut:
            found.append(
                f"only the first {len(self.names)} of {self.column_count} columns were read, and "
                "rows with too many fields were not looked for: raise `max_columns` to have all"
            )
        found += [f"column `{n}` fits no single type; it was read as text" for n in mixed_names]
        if self.names and self._settings["header"] and all(map(NUMBER.fullmatch, self.names)):
            found.append(
                "the header is made of numbers: pass `header: false` if the first row is data"
            )
        return found

    def _settle_columns(self, max_columns):
        if max_columns < 1:
            raise ValueError(f"`max_columns` must be at least 1, not {max_columns}")
        self._unnamed = self._extra_fields()
        (first,) = self._read(False, {"nrows": 1})
        names = [f"Unnamed: {n}" for n in range(self._unnamed)] + list(first.columns)
        self.column_count = len(names)
        self._is_cut = self.column_count > max_columns and not self._unnamed
        names = names[: max_columns if self._is_cut else None]
        if self._settings["header"] is None:
            names = [f"column_{n + 1}" for n in range(len(names))]
        self.names = [str(name) for name in names]

    def _extra_fields(self):
        """Returns how many unnamed columns of labels stand before those that the header names.

        pandas takes every excess of the first row over the header for labels; a delimiter at the
        end of each row is none.
        """
        header, *rows = self.text.first_rows or [[]]
        if self._settings["header"] is None or not rows or len(rows[0]) <= len(header):
            return 0
        extra = len(rows[0]) - len(header)
        if extra == 1 and not any(row[-1] for row in rows if len(row) > len(header)):
            self._settings["index_col"] = False
            self.warnings.append("each row ends with a delimiter that the header does not have")
            return 0
        self.warnings.append(
            "the header has fewer fields than the rows: it was taken to name the last ones"
        )
        return extra

    def _positions(self):
        return range(len(self.names))

    def _rows_at_once(self):
        width = self.column_count + ("index_col" in self._settings)
        rows = 1
        while rows * 2 < FIELDS_AT_ONCE // width:
            rows *= 2
        letters = sum(len(field) + 1 for row in self.text.first_rows for field in row)
        row_bytes = max(1, letters // max(1, len(self.text.first_rows)))
        while rows > 1 and rows * row_bytes > MOST_PART_BYTES:
            rows //= 2
        return rows

    def _read(self, counts_skipped, settings):
        """Yields what pandas reads: parts if `settings` have a `chunksize`, else one frame."""
        self._position = self._rows = 0
        try:
            with blobs.open(self._blob_id, "rb") as stream:
                frames = None
                while True:
                    with warnings.catch_warnings(record=True) as caught:
                        warnings.simplefilter("always")
                        if frames is None:
                            frames = pd.read_csv(stream, **(self._settings | settings))
                            frames = iter([frames] if "nrows" in settings else frames)
                        frame = next(frames, None)
                        if frame is not None:
                            self._position, self._rows = stream.tell(), self._rows + len(frame)
                    if counts_skipped:
                        self._count_skipped(caught)
                    if frame is None:
                        return
                    yield frame
        except UnicodeDecodeError as error:
            raise self.text.explain(error) from None
        except pd.errors.ParserError as error:
            if "out of memory" in str(error):
                raise MemoryError from None
            raise ValueError(f"the text cannot be read as CSV: {error}") from None

    def _count_skipped(self, caught):
        for warning in caught:
            if not issubclass(warning.category, pd.errors.ParserWarning):
                continue
            text = str(warning.message)
            if not self.skipped_rows:
                first = re.search(r"Skipping (line \d+: expected \d+ fields, saw \d+)", text)
                self._first_skipped = first and first.group(1)
            self.skipped_rows += text.count("Skipping line")
