"""The rows of a chart as columns: numbers, dates or names."""

import csv
import datetime
import io
import math
import re

from runtime import blobs

from csv_text import CsvText

MAX_ROWS = 300_000
MAX_COLUMNS = 2_000
MISSING = frozenset(["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "#N/A"])
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
DATE = re.compile(
    r"\d{4}([-/])\d{2}(\1\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?)?)?"
)
NUMBERS, DATES, NAMES, NOTHING = "numbers", "dates", "names", "nothing"


class ChartData:
    """Columns by name: lists of equal length whose missing values are None."""

    def __init__(self, args):
        self.warnings = []
        rows, blob_id = args.get("rows"), args.get("data_blob")
        if (rows is None) == (blob_id is None):
            raise ValueError("pass the data as `rows` or as `data_blob`, one of them")
        table = from_rows(rows) if blob_id is None else self._from_csv(blob_id)
        self.kinds, self.columns = {}, {}
        for name, values in table.items():
            self.kinds[name], self.columns[name] = typed(values)
        self.row_count = len(next(iter(self.columns.values()), []))
        if not self.row_count:
            raise ValueError("there is nothing to draw: the data has no rows")

    def find(self, name, argument):
        """Returns the name of the column that is meant by `name`."""
        if name in self.columns:
            return name
        same = [n for n in self.columns if n.strip().lower() == str(name).strip().lower()]
        if len(same) == 1:
            return same[0]
        known = ", ".join(f"`{n[:60]}` ({self.kinds[n]})" for n in list(self.columns)[:50])
        raise ValueError(f"there is no column `{name}` for `{argument}`; columns: {known}")

    def numbers(self, name, argument):
        """Returns a column of numbers with NaN for what is missing."""
        if self.kinds[name] not in (NUMBERS, NOTHING):
            example = next(v for v in self.columns[name] if v is not None)
            raise ValueError(
                f"column `{name}` for `{argument}` has {self.kinds[name]} such as "
                f"`{str(example)[:40]}`, not numbers"
            )
        return [math.nan if value is None else value for value in self.columns[name]]

    def _from_csv(self, blob_id):
        with blobs.open(blob_id) as stream:
            text = CsvText(stream)
            self.warnings += text.warnings
            stream.seek(0)
            lines = io.TextIOWrapper(stream, encoding=text.encoding, errors=text.errors, newline="")
            try:
                rows = list(limited(filter(None, csv.reader(lines, delimiter=text.delimiter))))
            except csv.Error as error:
                raise ValueError(f"the text cannot be read as CSV: {error}") from None
        if not rows:
            raise ValueError("the blob is empty")
        return from_rows(rows)


def limited(rows):
    """Yields the rows, and raises `ValueError` beyond the most that can be drawn."""
    for number, row in enumerate(rows):
        if number > MAX_ROWS:
            raise ValueError(f"there are more than {MAX_ROWS:,} rows: aggregate them first")
        yield row


def from_rows(rows):
    """Returns columns by name for objects, or for arrays below an array of names."""
    if all(isinstance(row, dict) for row in rows):
        names = list(dict.fromkeys(str(name) for row in rows for name in row))
        check_width(names)
        return {name: [row.get(name) for row in rows] for name in names}
    if not all(isinstance(row, (list, tuple)) for row in rows):
        raise ValueError(
            '`rows` must be objects such as {"month": "May", "sales": 3}, or arrays whose first '
            "one names the columns"
        )
    header, *rows = rows
    check_width(header)
    names = []
    for position, name in enumerate(header):
        text = str(name).strip() if name not in (None, "") else f"column_{position + 1}"
        names.append(text if text not in names else f"{text}_{position + 1}")
    return {
        name: [row[n] if n < len(row) else None for row in rows] for n, name in enumerate(names)
    }


def check_width(names):
    """Raises `ValueError` for too many columns."""
    if len(names) > MAX_COLUMNS:
        raise ValueError(f"there are {len(names):,} columns; {MAX_COLUMNS:,} are possible")


def typed(values):
    """Returns the kind of a column, and its values as that kind has them."""
    if all(isinstance(value, str) for value in values):
        values = [None if text in MISSING else text for text in map(str.strip, values)]
    else:
        values = [None if is_missing(value) else value for value in values]
    there = [value for value in values if value is not None]
    if not there:
        return NOTHING, values
    if all(map(is_number, there)):
        return NUMBERS, [None if v is None else to_number(v) for v in values]
    if all(isinstance(value, str) and DATE.fullmatch(value.strip()) for value in there):
        try:
            return DATES, [None if v is None else to_date(v.strip()) for v in values]
        except ValueError:
            pass
    return NAMES, [None if v is None else name_of(v) for v in values]


def is_missing(value):
    if isinstance(value, str):
        return value.strip() in MISSING
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def is_number(value):
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return NUMBER.fullmatch(value.strip()) is not None and math.isfinite(float(value))
    return isinstance(value, (int, float)) and abs(value) < 1e300


def to_number(value):
    """Returns a whole number if it is one, so that years are no fractions."""
    if isinstance(value, str):
        value = float(value)
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return int(value) if whole else float(value) if abs(value) >= 1e15 else value


def to_date(text):
    """Returns a moment without a time zone; one with a zone is told in UTC."""
    text = text.replace("/", "-")
    moment = datetime.datetime.fromisoformat(f"{text}-01" if len(text) == 7 else text)
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return moment


def name_of(value):
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else text[:59] + "…"
