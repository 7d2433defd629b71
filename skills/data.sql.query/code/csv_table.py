"""Loads a CSV blob into a table of an SQLite database, with a type for each column.

The text is read twice: once to find the types, once to fill the table. So memory holds the
database and a part of the rows, never the whole file. The types of large files are found by pandas.
"""

import csv
import io
import itertools
import re

from runtime import blobs

from csv_text import CsvText
from quick_types import QuickTypes, Unsure

INTEGER, REAL, TEXT = "INTEGER", "REAL", "TEXT"

# What pandas takes for missing, so that both skills see the same gaps.
MISSING = frozenset(
    "|#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|n/a"
    "|nan|null".split("|")
)

MAX_COLUMNS = 2_000
ROWS_AT_ONCE = 20_000
READ_BYTES = 1 << 20
# Files of this size and more are worth pandas.
LARGE_BYTES = 4 << 20

WHOLE = re.compile(r" *[+-]?(?:0|[1-9][0-9]*) *")
NUMERIC_LETTERS = re.compile(r"[0-9+\-.eE \n]*")
# A number with zeros in front is a code such as a postal one; one with 16 digits loses some as a
# floating point number. Both stay text.
CODE = re.compile(r"^ *[+-]?(?:0[0-9]|[0-9]{16,} *$)", re.MULTILINE)


class CsvTable:
    """A table that was loaded: its name, its columns with their types, its number of rows."""

    def __init__(self, name, blob_id, options):
        self.name = name
        self.warnings = []
        self.rows = 0
        self.types = []
        self._blob_id = blob_id
        with blobs.open(blob_id, "rb") as stream:
            self._text = CsvText(stream, options.get("encoding"), options.get("delimiter"))
        self.warnings.extend(f"table `{name}`: {text}" for text in self._text.warnings)
        if not self._text.first_rows:
            raise ValueError(f"table `{name}`: the file is empty, it has not even a header")
        self._has_header = options.get("header", True)
        self._ends_with_delimiter = False
        self.columns = self._name_columns()
        if len(self.columns) > MAX_COLUMNS:
            raise ValueError(
                f"table `{name}` has {len(self.columns)} columns; {MAX_COLUMNS} are the most"
            )
        self._skipped = self._gaps = None
        self._is_even = False

    def load(self, database):
        """Creates the table in `database` and fills it."""
        try:
            is_quick = self._find_types_quickly()
            if not is_quick:
                self._find_types()
            if self._fill(database) != self.rows and is_quick:
                # pandas has counted other rows: blank ones, or lines within quotes.
                database.execute(f"DROP TABLE {quoted(self.name)}")
                self._find_types()
                self._fill(database)
        except UnicodeDecodeError as error:
            raise self._text.explain(error) from None
        except csv.Error as error:
            raise ValueError(f"table `{self.name}` cannot be read as CSV: {error}") from None
        if self._skipped:
            self.warnings.append(
                f"table `{self.name}`: rows with more fields than the header were skipped: "
                f"{self._skipped:,}"
            )

    def schema(self):
        """Returns the columns as in `CREATE TABLE`: `name TYPE, name TYPE`."""
        types = self.types or [TEXT] * len(self.columns)
        pairs = zip(self.columns, types, strict=True)
        return ", ".join(f"{quoted_if_needed(name)} {kind}" for name, kind in pairs)

    def _name_columns(self):
        first, *rest = self._text.first_rows
        if not self._has_header:
            return [f"column_{n + 1}" for n in range(len(first))]
        width = max(len(rest[0]), len(first)) if rest else len(first)
        if width == len(first) + 1 and not any(row[-1] for row in rest if len(row) == width):
            self._ends_with_delimiter = True
            return distinct_names(first)
        if width > len(first):
            self.warnings.append(
                f"table `{self.name}`: the header has fewer fields than the rows: it was taken to "
                "name the last ones"
            )
        return distinct_names([""] * (width - len(first)) + first)

    def _rows(self):
        """Yields the rows below the header; blank ones are left out."""
        with blobs.open(self._blob_id, "rb") as stream:
            buffered = io.BufferedReader(stream, READ_BYTES)
            text = io.TextIOWrapper(
                buffered, encoding=self._text.encoding, errors=self._text.errors, newline=""
            )
            rows = filter(None, csv.reader(text, delimiter=self._text.delimiter))
            if self._has_header:
                next(rows, None)
            if self._ends_with_delimiter:
                rows = (row if row[-1] else row[:-1] for row in rows)
            yield from rows

    def _even_rows(self):
        """Yields rows of the table's width: shorter ones are filled up, longer ones skipped."""
        width = len(self.columns)
        for row in self._rows():
            if len(row) == width:
                yield row
            elif len(row) < width:
                yield row + [""] * (width - len(row))

    def _find_types_quickly(self):
        """Finds the types of a large and even table, and returns whether it did."""
        header, *rows = self._text.first_rows
        width = len(self.columns)
        with blobs.open(self._blob_id, "rb") as stream:
            size = stream.seek(0, io.SEEK_END)
        if size < LARGE_BYTES or not rows or not len(header) == len(rows[0]) == width:
            return False
        try:
            with blobs.open(self._blob_id, "rb") as stream:
                found = QuickTypes(stream, self._text, width, self._has_header, MISSING)
        except Unsure:
            return False
        self.types, self._gaps, self.rows, self._skipped = found.types, found.gaps, found.rows, 0
        return True

    def _find_types(self):
        width = len(self.columns)
        types = [None] * width
        self._gaps = [False] * width
        self.rows = self._skipped = 0
        self._is_even = True
        rows = self._rows()
        while part := list(itertools.islice(rows, ROWS_AT_ONCE)):
            if set(map(len, part)) != {width}:
                self._is_even = False
                self._skipped += sum(len(row) > width for row in part)
                part = [row + [""] * (width - len(row)) for row in part if len(row) <= width]
            self.rows += len(part)
            for position, column in enumerate(zip(*part, strict=True)):
                values = set(column)
                if not values.isdisjoint(MISSING):
                    self._gaps[position] = True
                    values -= MISSING
                if values and types[position] != TEXT:
                    types[position] = widened(types[position], values)
        self.types = [kind or TEXT for kind in types]

    def _fill(self, database):
        """Creates the table, and returns the number of its rows."""
        table = quoted(self.name)
        columns = ", ".join(
            f"{quoted(name)} {kind}" for name, kind in zip(self.columns, self.types, strict=True)
        )
        database.execute(f"CREATE TABLE {table} ({columns})")
        marks = ", ".join("?" * len(self.columns))
        # SQLite turns text into the number it spells, because the column says INTEGER or REAL.
        rows = self._rows() if self._is_even else self._even_rows()
        database.execute("BEGIN")
        count = database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows).rowcount
        missing = ", ".join(f"'{marker}'" for marker in sorted(MISSING))
        for name, has_gaps in zip(self.columns, self._gaps, strict=True):
            if has_gaps:
                column = quoted(name)
                database.execute(
                    f"UPDATE {table} SET {column} = NULL WHERE {column} IN ({missing})"
                )
        database.execute("COMMIT")
        # SQLite counts -1 where nothing was inserted.
        return max(count, 0)


def widened(kind, values):
    """Returns the narrowest type, not narrower than `kind`, that all `values` have."""
    values = list(values)
    if kind != REAL and are_integers(values):
        return INTEGER
    return REAL if are_reals(values) else TEXT


def are_integers(values):
    """Returns whether all `values` spell whole numbers of 64 bits, without zeros in front."""
    try:
        numbers = list(map(int, values))
    except ValueError:
        return False
    if min(numbers) < -(1 << 63) or max(numbers) >= 1 << 63:
        return False
    # Most text is the number as Python prints it; only what is not has to be looked at closely.
    return list(map(str, numbers)) == values or all(map(WHOLE.fullmatch, values))


def are_reals(values):
    """Returns whether all `values` spell finite decimal numbers that keep their digits."""
    lines = "\n".join(values)
    if not NUMERIC_LETTERS.fullmatch(lines) or CODE.search(lines):
        return False
    try:
        list(map(float, values))
    except ValueError:
        return False
    return True


def distinct_names(header):
    """Returns names for columns: none empty, none equal, as SQLite ignores case."""
    names, seen = [], set()
    for position, text in enumerate(header):
        base = text.strip() or f"column_{position + 1}"
        name, number = base, 2
        while name.lower() in seen:
            name, number = f"{base}_{number}", number + 1
        seen.add(name.lower())
        names.append(name)
    return names


def quoted(name):
    """Returns `name` as an SQL identifier."""
    return '"' + name.replace('"', '""').replace("\0", "") + '"'


def quoted_if_needed(name):
    """Returns `name` as it has to be written in a query."""
    is_plain = name.isascii() and name.isidentifier() and name.upper() not in KEYWORDS
    return name if is_plain else quoted(name)


KEYWORDS = frozenset(
    """ALL AND AS ASC BETWEEN BY CASE CAST CHECK COLLATE COLUMN COMMIT CREATE CROSS DEFAULT DELETE
    DESC DISTINCT DROP ELSE END ESCAPE EXCEPT EXISTS FOR FOREIGN FROM FULL GROUP HAVING IN INDEX
    INNER INSERT INTERSECT INTO IS ISNULL JOIN KEY LEFT LIMIT NATURAL NOT NOTNULL NULL OF OFFSET ON
    OR ORDER OUTER PRIMARY REFERENCES RIGHT ROW ROWS SELECT SET TABLE THEN TO TRIGGER UNION UNIQUE
    UPDATE USING VALUES VIEW WHEN WHERE WITH""".split()
)
