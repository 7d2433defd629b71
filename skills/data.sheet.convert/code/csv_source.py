"""Reads CSV text in parts of a few thousand rows, after a first reading that finds the types."""

import csv
import io
import itertools

from runtime import blobs

from csv_text import CsvText
from value_types import TEXT, joined_texts, kinds_of_texts, parse_texts

ROWS_AT_ONCE = 10_000
READ_BYTES = 1 << 20
MAX_COLUMNS = 16_384


class CsvSource:
    """A table in CSV text: `names`, `kinds`, and `parts()`, each a list of columns."""

    def __init__(self, blob_id, options, *, delimiter, is_typed):
        with blobs.open(blob_id) as stream:
            self._text = CsvText(stream, options.get("encoding"), delimiter)
        self.warnings = list(self._text.warnings)
        self.sheet, self.sheets = None, []
        self._blob_id = blob_id
        self._skip = options.get("skip_rows", 0)
        self._has_header = options.get("header", True)
        self._find_types(is_typed)

    def parts(self):
        """Yields the rows below the header, a few thousand at once, as columns of values."""
        rows = self._rows()
        if self._has_header:
            next(rows, None)
        while part := list(itertools.islice(rows, ROWS_AT_ONCE)):
            columns = self._columns(part)
            yield [parse_texts(c, k) for c, k in zip(columns, self.kinds, strict=True)]

    def _rows(self):
        try:
            with blobs.open(self._blob_id) as stream:
                buffered = io.BufferedReader(stream, READ_BYTES)
                text = io.TextIOWrapper(
                    buffered, encoding=self._text.encoding, errors=self._text.errors, newline=""
                )
                rows = filter(None, csv.reader(text, delimiter=self._text.delimiter))
                yield from itertools.islice(rows, self._skip, None)
        except UnicodeDecodeError as error:
            raise self._text.explain(error) from None
        except csv.Error as error:
            raise ValueError(f"the text cannot be read as CSV: {error}") from None

    def _columns(self, rows):
        columns = list(itertools.zip_longest(*rows, fillvalue=""))
        return columns + [("",) * len(rows)] * (len(self.names) - len(columns))

    def _find_types(self, is_typed):
        rows = self._rows()
        header = next(rows, []) if self._has_header else []
        kinds, width, wide_rows = [], len(header), 0
        while part := list(itertools.islice(rows, ROWS_AT_ONCE)):
            wide_rows += sum(len(row) > len(header) for row in part) if header else 0
            width = max(width, max(map(len, part)))
            if width > MAX_COLUMNS:
                raise ValueError(
                    f"a row has {width:,} fields, {MAX_COLUMNS:,} are possible: "
                    "pass the right `delimiter`"
                )
            if not is_typed:
                continue
            kinds += [set() for _ in range(width - len(kinds))]
            columns = itertools.zip_longest(*part, fillvalue="")
            for found, texts in zip(kinds, columns, strict=False):
                if TEXT not in found:
                    found.update(kinds_of_texts(set(texts)))
        if is_typed:
            self.kinds = [joined_texts(found) for found in kinds]
        else:
            self.kinds = []
        self.kinds += [TEXT] * (width - len(self.kinds))
        self.names = header + [""] * (width - len(header))
        if wide_rows and width > len(header):
            self.warnings.append(
                f"rows with more fields than the header: {wide_rows:,}; the further columns are "
                "called by their position"
            )
