"""Writes tables. Equal tables give equal files: nothing depends on the time."""

import csv
import datetime
import decimal
import json
import math
from json.encoder import encode_basestring

from value_types import (
    BOOLEAN,
    DATE,
    DATETIME,
    INTEGER,
    MIXED,
    NUMBER,
    TEXT,
    TIME,
    as_json,
    as_text,
)

MIME_TYPES = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
}

SHEET_ROWS = 1_048_576
SHEET_COLUMNS = 16_384
CELL_LETTERS = 32_767

# Excel keeps 15 digits of a number, and its calendar begins with 1900.
CELL_INTEGER = 10**15
CELL_YEAR = 1900


def write_table(table, to, path):
    """Writes `table` to the file `path`, and returns what a reader has to know."""
    if to in ("csv", "tsv"):
        return write_delimited(table, path, "," if to == "csv" else "\t")
    if to in ("json", "jsonl"):
        return write_json(table, path, is_lines=to == "jsonl")
    return write_workbook(table, path) if to == "xlsx" else write_parquet(table, path)


def write_delimited(table, path, delimiter):
    """Writes CSV or TSV in UTF-8."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(table.names)
        for columns in table.parts():
            writer.writerows(zip(*(map(as_text, column) for column in columns), strict=True))
    return []


def write_json(table, path, *, is_lines):
    """Writes an array of objects, or an object in each line."""
    names = (encode_basestring(name).replace("%", "%%") for name in table.names)
    form = "{" + ", ".join(f"{name}: %s" for name in names) + "}"
    replaced, between = 0, "\n" if is_lines else ",\n"
    with open(path, "w", encoding="utf-8", newline="") as file:
        for n, columns in enumerate(table.parts()):
            texts = []
            for kind, column in zip(table.kinds, columns, strict=True):
                finite = column
                if kind in (NUMBER, MIXED):
                    finite = [None if is_infinite(value) else value for value in column]
                    replaced += sum(a is not b for a, b in zip(finite, column, strict=True))
                texts.append(json_texts(kind, finite))
            file.write(between if n else "" if is_lines else "[\n")
            file.write(between.join(map(form.__mod__, zip(*texts, strict=True))))
        if is_lines:
            file.write("\n" if table.rows else "")
        else:
            file.write("\n]\n" if table.rows else "[]\n")
    return [f"numbers that became null, because JSON has no infinity: {replaced:,}"] if replaced else []


def json_texts(kind, values):
    """Returns the values of a column as JSON."""
    encode = JSON_ENCODERS.get(kind, as_json_text)
    return ["null" if value is None else encode(value) for value in values]


def as_json_text(value):
    """Returns any value as JSON."""
    return json.dumps(value, ensure_ascii=False, default=as_json)


JSON_ENCODERS = {
    INTEGER: str,
    BOOLEAN: lambda value: "true" if value else "false",
    TEXT: encode_basestring,
    DATE: lambda value: f'"{value.isoformat()}"',
    DATETIME: lambda value: f'"{value.isoformat()}"',
}


def is_infinite(value):
    """Returns whether JSON has no such number."""
    return isinstance(value, float) and not math.isfinite(value)


def write_workbook(table, path):
    """Writes a workbook with one sheet. Text stays text, also if it begins with `=`."""
    import xlsxwriter

    if len(table.names) > SHEET_COLUMNS:
        raise ValueError(f"a sheet has {SHEET_COLUMNS:,} columns; choose fewer with `columns`")
    options = {"constant_memory": True, "tmpdir": ".", "strings_to_urls": False}
    book = xlsxwriter.Workbook(path, options)
    book.set_properties({"created": datetime.datetime(2000, 1, 1)})
    sheet = book.add_worksheet("data")
    formats = {
        DATE: book.add_format({"num_format": "yyyy-mm-dd"}),
        DATETIME: book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
        TIME: book.add_format({"num_format": "hh:mm:ss"}),
    }
    bold = book.add_format({"bold": True})
    sheet.freeze_panes(1, 0)
    writer = CellWriter(sheet, formats)
    for n, (name, kind) in enumerate(zip(table.names, table.kinds, strict=True)):
        sheet.set_column(n, n, 19 if kind == DATETIME else min(max(len(name) + 2, 10), 40))
    for n, name in enumerate(table.names):
        sheet.write_string(0, n, name[:CELL_LETTERS], bold)
    row = 0
    for columns in table.parts():
        if row + len(columns[0]) >= SHEET_ROWS:
            raise ValueError(f"a sheet has {SHEET_ROWS:,} rows; pass `max_rows`, or use parquet")
        for values in zip(*columns, strict=True):
            row += 1
            for n, value in enumerate(values):
                if value is not None:
                    writer.write(row, n, value)
    book.close()
    return writer.warnings()


class CellWriter:
    """Writes values as cells of the right type, and counts those that Excel cannot hold."""

    def __init__(self, sheet, formats):
        self._sheet = sheet
        self._formats = formats
        self._cut = self._as_text = 0

    def write(self, row, column, value):
        """Writes one value that is there."""
        if isinstance(value, bool):
            self._sheet.write_boolean(row, column, value)
        elif isinstance(value, (int, float, decimal.Decimal)):
            if not math.isfinite(value) or (isinstance(value, int) and abs(value) >= CELL_INTEGER):
                self._as_text += 1
                self._write_text(row, column, str(value))
            else:
                self._sheet.write_number(row, column, value)
        elif isinstance(value, datetime.datetime):
            is_possible = value.tzinfo is None and value.year >= CELL_YEAR
            self._write_moment(row, column, value, DATETIME, is_possible)
        elif isinstance(value, datetime.date):
            self._write_moment(row, column, value, DATE, value.year >= CELL_YEAR)
        elif isinstance(value, datetime.time):
            self._write_moment(row, column, value, TIME, value.tzinfo is None)
        else:
            self._write_text(row, column, as_text(value))

    def _write_moment(self, row, column, value, kind, is_possible):
        if is_possible:
            self._sheet.write_datetime(row, column, value, self._formats[kind])
        else:
            self._as_text += 1
            self._write_text(row, column, value.isoformat())

    def _write_text(self, row, column, text):
        if len(text) > CELL_LETTERS:
            self._cut += 1
            text = text[:CELL_LETTERS]
        self._sheet.write_string(row, column, text)

    def warnings(self):
        """Returns what was changed."""
        found = []
        if self._cut:
            found.append(f"texts that were cut to the {CELL_LETTERS:,} characters of a cell: {self._cut:,}")
        if self._as_text:
            found.append(
                "values that Excel would change were written as text (numbers of 16 and more "
                f"digits, infinity, time zones, dates before 1900): {self._as_text:,}"
            )
        return found


def write_parquet(table, path):
    """Writes Parquet with Snappy, in one piece."""
    import pandas as pd

    notes = [
        f"column `{name}` has values of several types, or nested ones; it was written as text"
        for name, kind in zip(table.names, table.kinds, strict=True)
        if kind == MIXED
    ]
    parts = []
    for columns in table.parts():
        triples = zip(table.names, table.kinds, columns, strict=True)
        parts.append(pd.DataFrame({name: series(kind, values) for name, kind, values in triples}))
    if not parts:
        pairs = zip(table.names, table.kinds, strict=True)
        parts.append(pd.DataFrame({name: series(kind, []) for name, kind in pairs}))
    pd.concat(parts, ignore_index=True).to_parquet(path, index=False)
    return notes


def series(kind, values):
    """Returns the values as a column of pandas whose type can have gaps."""
    import pandas as pd

    if kind == INTEGER and all(v is None or -(1 << 63) <= v < 1 << 63 for v in values):
        return pd.array(values, dtype="Int64")
    if kind == NUMBER:
        return pd.array([None if v is None else float(v) for v in values], dtype="Float64")
    if kind == BOOLEAN:
        return pd.array(values, dtype="boolean")
    if kind == DATETIME and len({v.tzinfo for v in values if v is not None}) <= 1:
        return pd.Series(pd.to_datetime(pd.Series(values, dtype=object)))
    if kind in (DATE, TIME):
        return pd.Series(values, dtype=object)
    return pd.Series([None if v is None else as_text(v) for v in values], dtype="str")
