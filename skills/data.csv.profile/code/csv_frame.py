"""Reads a CSV blob into a data frame, as `pandas.read_csv` does, and says what is wrong with it."""

import re
import warnings

import pandas as pd
from runtime import blobs

from csv_text import CsvText

# Numbers as pandas reads them; a header made of them is more likely a first row of data.
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?(\.\d+)?")


class CsvFrame:
    """The content of a CSV blob: `frame`, and what a reader of its numbers has to know."""

    def __init__(self, blob_id, options):
        with blobs.open(blob_id, "rb") as stream:
            self.text = CsvText(stream, options.get("encoding"), options.get("delimiter"))
        self.warnings = list(self.text.warnings)
        self.skipped_rows = 0
        self.frame = pd.DataFrame()
        self.column_count = 0
        self._blob_id = blob_id
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
            self._read(options.get("max_columns", 100))

    def _read(self, max_columns):
        if max_columns < 1:
            raise ValueError(f"`max_columns` must be at least 1, not {max_columns}")
        extra = self._extra_fields()
        self.column_count = len(self._parse(nrows=1).columns) + extra
        if self.column_count > max_columns and not extra:
            self.frame = self._parse(usecols=range(max_columns))
            self.warnings.append(
                f"only the first {max_columns} of {self.column_count} columns were read, and rows "
                "with too many fields were not looked for: raise `max_columns` to have all"
            )
        else:
            self.frame = self._parse()
            if extra:
                self.frame = self.frame.reset_index(names=[f"Unnamed: {n}" for n in range(extra)])
        self._settle_mixed_columns(extra)
        self._settle_header()

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

    def _parse(self, **extra):
        try:
            with (
                blobs.open(self._blob_id, "rb") as stream,
                warnings.catch_warnings(record=True) as caught,
            ):
                warnings.simplefilter("always")
                frame = pd.read_csv(stream, **self._settings, **extra)
        except UnicodeDecodeError as error:
            raise self.text.explain(error) from None
        except pd.errors.ParserError as error:
            if "out of memory" in str(error):
                raise MemoryError from None
            raise ValueError(f"the text cannot be read as CSV: {error}") from None
        if "nrows" not in extra:
            self._count_skipped(caught)
        return frame

    def _count_skipped(self, caught):
        lines = [str(w.message) for w in caught if issubclass(w.category, pd.errors.ParserWarning)]
        self.skipped_rows = sum(text.count("Skipping line") for text in lines)
        self.warnings = [w for w in self.warnings if "were skipped" not in w]
        if self.skipped_rows:
            first = re.search(r"Skipping line \d+: expected \d+ fields, saw \d+", "".join(lines))
            example = first.group().replace("Skipping ", "") if first else "too many fields"
            self.warnings.append(
                f"{self.skipped_rows} rows were skipped because they have more fields than the "
                f"header (first: {example})"
            )

    def _settle_mixed_columns(self, extra):
        """Turns columns into text that pandas saw as different types in different parts.

        They are read again, so that `007` stays `007`; only beside unnamed columns, where
        positions are not those of the header, is text made from what was read.
        """
        for position, name in enumerate(self.frame.columns):
            column = self.frame.iloc[:, position]
            if column.dtype != object or column.dropna().map(type).eq(bool).all():
                continue
            if extra:
                texts = column.where(column.isna(), column.map(str)).astype("str")
            else:
                texts = self._parse(usecols=[position], dtype=str).iloc[:, 0]
            self.frame.isetitem(position, texts)
            self.warnings.append(f"column `{name}` fits no single type; it was read as text")

    def _settle_header(self):
        if self._settings["header"] is None:
            self.frame.columns = [f"column_{n + 1}" for n in range(len(self.frame.columns))]
            return
        self.frame.columns = [str(name) for name in self.frame.columns]
        if len(self.frame.columns) and all(NUMBER.fullmatch(n) for n in self.frame.columns):
            self.warnings.append(
                "the header is made of numbers: pass `header: false` if the first row is data"
            )
