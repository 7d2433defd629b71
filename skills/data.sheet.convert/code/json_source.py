"""Reads JSON and JSON Lines: objects, arrays of values, or an object of columns."""

import json

from runtime import blobs

from csv_text import detect_encoding, resolve_encoding
from value_types import joined, kind_of_value

ROWS_AT_ONCE = 10_000
MAX_COLUMNS = 16_384


class JsonSource:
    """A table in JSON: `names`, `kinds`, and `parts()`, each a list of columns."""

    def __init__(self, blob_id, options, *, is_lines):
        self.warnings = []
        self.sheet, self.sheets = None, []
        with blobs.open(blob_id) as stream:
            encoding = resolve_encoding(options.get("encoding")) or detect_encoding(stream)[0]
        text = blobs.read_text(blob_id, encoding="utf-8-sig" if encoding == "utf-8" else encoding)
        self._rows = read_lines(text) if is_lines else self._read(text)
        names = {}
        for row in self._rows:
            names.update(dict.fromkeys(row))
        if len(names) > MAX_COLUMNS:
            raise ValueError(f"there are {len(names):,} columns; {MAX_COLUMNS:,} are possible")
        self.names = list(names)
        self.kinds = [joined({kind_of_value(row.get(n)) for row in self._rows}) for n in names]

    def parts(self):
        """Yields the rows, a few thousand at once, as columns of values."""
        for start in range(0, len(self._rows), ROWS_AT_ONCE):
            part = self._rows[start : start + ROWS_AT_ONCE]
            yield [[row.get(name) for row in part] for name in self.names]

    def _read(self, text):
        try:
            value = json.loads(text, parse_constant=lambda _: None)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"the blob is no JSON: {error}; for one value in each line pass `from`: `jsonl`"
            ) from None
        except RecursionError:
            raise ValueError("the JSON is nested too deeply") from None
        if isinstance(value, dict):
            value = self._rows_of(value)
        if not isinstance(value, list):
            raise ValueError(f"the JSON holds no rows, only {shown(value)}: a table is an array")
        return as_objects(value)

    def _rows_of(self, value):
        lists = [name for name, inner in value.items() if isinstance(inner, list)]
        lengths = {len(value[name]) for name in lists}
        if lists and len(lists) == len(value) and len(lengths) == 1:
            inner = [item for name in lists for item in value[name]]
            if len(lists) > 1 or not all(isinstance(item, (dict, list)) for item in inner):
                columns = zip(*(value[name] for name in lists), strict=True)
                return [dict(zip(lists, row, strict=True)) for row in columns]
        tables = [name for name in lists if all(isinstance(i, dict) for i in value[name])]
        if len(tables) == 1:
            self.warnings.append(f"the rows are those of the member `{tables[0]}`")
            return value[tables[0]]
        return [value]


def read_lines(text):
    """Returns the objects of JSON Lines."""
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line, parse_constant=lambda _: None))
        except json.JSONDecodeError as error:
            raise ValueError(f"line {number} is no JSON: {error.msg}") from None
        except RecursionError:
            raise ValueError(f"line {number} is nested too deeply") from None
    return as_objects(rows)


def as_objects(rows):
    """Returns the rows as dicts; arrays and single values get columns called by position."""
    found = []
    for number, row in enumerate(rows, 1):
        if isinstance(row, list):
            if len(row) > MAX_COLUMNS:
                raise ValueError(f"row {number:,} has {len(row):,} values")
            row = {f"column_{n}": item for n, item in enumerate(row, 1)}
        elif not isinstance(row, dict):
            row = {"value": row}
        found.append(row)
    return found


def shown(value):
    """Returns the beginning of a value as JSON."""
    text = json.dumps(value, ensure_ascii=False)
    return f"`{text}`" if len(text) <= 40 else f"`{text[:39]}…`"
