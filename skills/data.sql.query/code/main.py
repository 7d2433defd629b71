"""Answers an SQL query over CSV blobs."""

import csv
import json
import math
import os
import sqlite3
import tempfile

from runtime import blobs, log

from csv_table import CsvTable, quoted_if_needed
from read_only import QueryError, explained, open_database, start

# What is returned has to stay below the 4 KB that a caller sees inline; rows get what the tables,
# the columns and the warnings leave.
INLINE_BYTES = 3_200
SCHEMA_BYTES = 900
COLUMNS_SHOWN = 30

DEFAULT_ROWS = 10_000
MOST_ROWS = 1_000_000


def main(args):
    """Returns the rows that `args["query"]` selects; see SKILL.md."""
    try:
        return answer(args)
    except MemoryError:
        raise MemoryError(
            "the tables and the query need more memory than this run may have: query fewer or "
            "smaller files, select less, or ask for more with `limits.memory_bytes`"
        ) from None


def answer(args):
    """Loads the tables, runs the query, and arranges the result."""
    limit = args.get("max_rows", DEFAULT_ROWS)
    if not 1 <= limit <= MOST_ROWS:
        raise ValueError(f"`max_rows` must be between 1 and {MOST_ROWS:,}")
    database = open_database()
    tables = load_tables(database, args)
    about = {
        "tables": describe(tables),
        "warnings": [shortened(text, 200) for table in tables for text in table.warnings][:3],
    }
    try:
        cursor = start(database, args["query"])
        result = Result([column[0] for column in cursor.description], size_of(about))
        result.take(cursor, limit)
    except sqlite3.Error as error:
        raise with_tables(explained(error), tables) from None
    except QueryError as error:
        raise with_tables(error, tables) from None
    rows_blob = result.store()
    return {
        "summary": result.summary(rows_blob),
        "columns": result.columns(),
        "rows": result.inline,
        "row_count": result.count,
        "truncated": result.has_more,
        "rows_blob": rows_blob,
        **about,
    }


def load_tables(database, args):
    """Loads every blob that was named, and returns the tables."""
    named = dict(args.get("tables") or {})
    if args.get("csv_blob"):
        name = args.get("table") or "data"
        if name in named:
            raise ValueError(f"two tables are called `{name}`: one of `tables`, and `csv_blob`")
        named[name] = args["csv_blob"]
    if not named:
        raise ValueError("there is nothing to query: pass `csv_blob`, or `tables`")
    if len({name.lower() for name in named}) < len(named):
        raise ValueError("names of `tables` must differ in more than upper and lower case")
    tables = []
    for name, blob_id in named.items():
        if not name.strip() or name.lower().startswith("sqlite_"):
            raise ValueError(f"`{name}` cannot be the name of a table")
        table = CsvTable(name, blob_id, args)
        table.load(database)
        log.info(f"table {name}: {table.rows} rows, {len(table.columns)} columns")
        tables.append(table)
    return tables


def with_tables(error, tables):
    """Returns `error` with the tables and columns that a better query could name."""
    known = "; ".join(f"{quoted_if_needed(t.name)}({t.schema()})" for t in tables)
    return QueryError(f"{error}. Tables: {shortened(known, 3_000)}")


def describe(tables):
    """Returns what was loaded, short enough to be read with each answer."""
    room = SCHEMA_BYTES // len(tables)
    return {
        table.name: {"rows": table.rows, "columns": shortened(table.schema(), room)}
        for table in tables[:20]
    }


def size_of(value):
    """Returns the bytes of `value` as JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode())


def shortened(text, most):
    """Returns `text`, cut to `most` letters."""
    return text if len(text) <= most else text[: most - 1] + "…"


class Result:
    """The rows of a query: the first few inline, all of them in a file once they are too many."""

    def __init__(self, names, reserved_bytes):
        self.names = names
        self.kinds = [set() for _ in names]
        self.inline = []
        self.count = 0
        self.has_more = False
        descriptor, self._file = tempfile.mkstemp(suffix=".csv")
        os.close(descriptor)
        self._room = INLINE_BYTES - reserved_bytes - size_of(self.columns())

    def take(self, cursor, limit):
        """Reads at most `limit` rows."""
        with open(self._file, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.names)
            for row in cursor:
                if self.count == limit:
                    self.has_more = True
                    break
                self.count += 1
                values = [plain(value) for value in row]
                for kinds, value in zip(self.kinds, row, strict=True):
                    kinds.add(type(value))
                writer.writerow(values)
                self._keep(values)

    def _keep(self, values):
        if self._room <= 0:
            return
        self._room -= size_of(values) + 2
        if self._room > 0:
            self.inline.append(values)

    def store(self):
        """Makes a blob of the rows if not all are inline, and returns its id."""
        blob_id = None
        if len(self.inline) < self.count:
            blob_id = blobs.write_file(self._file, kind="text/csv", name="result.csv")
        os.remove(self._file)
        return blob_id

    def columns(self):
        """Returns the names and types of the columns."""
        kinds = [type_name(kinds) for kinds in self.kinds]
        pairs = zip(self.names[:COLUMNS_SHOWN], kinds, strict=False)
        return [{"name": shortened(name, 40), "type": kind} for name, kind in pairs]

    def summary(self, rows_blob):
        """Returns the one sentence that a caller reads first."""
        text = f"{self.count:,} row" + ("" if self.count == 1 else "s")
        if self.has_more:
            text = f"The first {text}; there are more"
        if rows_blob is not None:
            text += f"; {len(self.inline)} of them are here, all are in {rows_blob}"
        return text + "."


def plain(value):
    """Returns a value of SQLite as JSON and CSV can have it: blobs as hex, infinity as nothing."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


TYPE_NAMES = {int: "integer", float: "real", str: "text", bytes: "blob"}


def type_name(kinds):
    """Returns the one type of a column's values, `mixed` if there are several, or `null`."""
    names = {TYPE_NAMES[kind] for kind in kinds if kind in TYPE_NAMES}
    if names == {"integer", "real"}:
        return "real"
    return names.pop() if len(names) == 1 else "mixed" if names else "null"
