"""Converts a table between CSV, TSV, JSON, JSON Lines, Excel and Parquet."""

import itertools
import json
import os

from runtime import blobs, log

from csv_source import CsvSource
from csv_text import CsvText
from table_writers import MIME_TYPES, write_table
from value_types import as_text

# What is returned has to stay below the 4 KB that a caller sees inline.
COLUMNS_BYTES = 1_500
PREVIEW_BYTES = 700
PREVIEW_ROWS = 3
SNIFFED_BYTES = 64 << 10

TEXT_FORMATS = ("csv", "tsv")


def main(args):
    """Returns the blob that `args["data_blob"]` becomes; see SKILL.md."""
    try:
        return convert(args)
    except MemoryError:
        raise MemoryError(
            "the table needs more memory than a run may have: pass `columns` or `max_rows`, or "
            "raise `limits.memory_bytes`"
        ) from None


def convert(args):
    """Reads, selects and writes."""
    to = args["to"]
    source_format = args.get("from") or "auto"
    if source_format == "auto":
        source_format = detect_format(args["data_blob"])
    table = Selection(open_source(source_format, args), args)
    log.info(f"{source_format}: {len(table.names)} columns")
    path = f"result.{to}"
    notes = write_table(table, to, path)
    result_blob = blobs.write_file(path, kind=MIME_TYPES[to])
    size = os.path.getsize(path)
    os.remove(path)
    columns = [
        {"name": shortened(name, 60), "type": kind}
        for name, kind in zip(table.names, table.kinds, strict=True)
    ]
    output = {
        "summary": f"{counted(table.rows, 'row')}, {counted(len(table.names), 'column')} "
        f"from {source_format} to {to}, {size:,} bytes, in {result_blob}.",
        "result_blob": result_blob,
        "from": source_format,
        "to": to,
        "rows": table.rows,
        "column_count": len(table.names),
        "columns": fitting(columns, COLUMNS_BYTES),
        "preview": fitting(table.preview, PREVIEW_BYTES),
        "warnings": [shortened(text, 200) for text in (table.warnings + notes)[:5]],
    }
    if table.sheets:
        output["sheet"] = table.sheet
        output["sheets"] = fitting([shortened(name, 31) for name in table.sheets], 500)
    return output


def detect_format(blob_id):
    """Returns the format of a blob, from its content."""
    with blobs.open(blob_id) as stream:
        head = stream.read(SNIFFED_BYTES)
    if head.startswith((b"PK", b"\xd0\xcf\x11\xe0")):
        return "xlsx"
    if head.startswith(b"PAR1"):
        return "parquet"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"{", b"[")):
        return detect_json(text)
    with blobs.open(blob_id) as stream:
        return "tsv" if CsvText(stream).delimiter == "\t" else "csv"


def detect_json(text):
    """Returns `jsonl` if the first line is a whole value and another one follows."""
    first, _, rest = text.partition(b"\n")
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        is_json = text.startswith((b"{", b"[\n", b"[ ", b"[{", b"[\r", b"[["))
        return "json" if is_json else "csv"
    return "jsonl" if rest.lstrip().startswith((b"{", b"[")) else "json"


def open_source(source_format, args):
    """Returns the table in the blob. Readers are imported only if they are needed."""
    blob_id = args["data_blob"]
    if source_format in TEXT_FORMATS:
        delimiter = args.get("delimiter") or "auto"
        if source_format == "tsv" and delimiter == "auto":
            delimiter = "tab"
        # From text to text nothing has to be understood, and so nothing can be changed.
        is_typed = args.get("infer_types", True) and args["to"] not in TEXT_FORMATS
        return CsvSource(blob_id, args, delimiter=delimiter, is_typed=is_typed)
    if source_format in ("json", "jsonl"):
        from json_source import JsonSource

        return JsonSource(blob_id, args, is_lines=source_format == "jsonl")
    if source_format == "xlsx":
        from workbook_source import WorkbookSource

        return WorkbookSource(blob_id, args)
    from parquet_source import ParquetSource

    return ParquetSource(blob_id, args)


class Selection:
    """The chosen columns and rows of a table, counted while they are read."""

    def __init__(self, source, args):
        self.warnings = list(source.warnings)
        self.sheet, self.sheets = source.sheet, source.sheets
        self.rows, self.preview = 0, []
        self._source = source
        self._max_rows = args.get("max_rows")
        names = distinct_names(source.names)
        if names != source.names:
            self.warnings.append("columns without a name, or with a name twice, were renamed")
        chosen = args.get("columns")
        self._positions = list(range(len(names))) if chosen is None else find(chosen, names)
        self.names = [names[position] for position in self._positions]
        self.kinds = [source.kinds[position] for position in self._positions]

    def parts(self):
        """Yields lists of columns, a few thousand rows at once."""
        for part in self._source.parts():
            columns = [part[position] for position in self._positions]
            count = len(part[0]) if part else 0
            if self._max_rows is not None and self.rows + count >= self._max_rows:
                count = self._max_rows - self.rows
                columns = [column[:count] for column in columns]
            if len(self.preview) < PREVIEW_ROWS:
                self._keep(columns)
            self.rows += count
            if count:
                yield columns
            if self.rows == self._max_rows:
                break

    def _keep(self, columns):
        for row in itertools.islice(zip(*columns, strict=True), PREVIEW_ROWS - len(self.preview)):
            shown = [brief(value) for value in row]
            self.preview.append(dict(zip(self.names, shown, strict=True)))


def brief(value):
    """Returns a value for the preview: numbers and booleans as they are, the rest as short text."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    return shortened(as_text(value), 60)


def find(chosen, names):
    """Returns the positions of the columns with the `chosen` names."""
    positions, unknown = [], []
    for name in chosen:
        if name in names:
            positions.append(names.index(name))
        else:
            same = [n for n in names if n.strip().lower() == name.strip().lower()]
            if len(same) == 1:
                positions.append(names.index(same[0]))
            else:
                unknown.append(name)
    if unknown:
        missing = ", ".join(f"`{name}`" for name in unknown[:10])
        known = ", ".join(f"`{shortened(name, 60)}`" for name in names[:50]) or "none"
        raise ValueError(f"there is no column {missing}; columns: {known}")
    if len(set(positions)) < len(positions):
        raise ValueError("`columns` names a column twice")
    return positions


def distinct_names(header):
    """Returns names for columns: none empty, none equal."""
    names, seen = [], set()
    for position, text in enumerate(header):
        base = text.strip() or f"column_{position + 1}"
        name, number = base, 2
        while name in seen:
            name, number = f"{base}_{number}", number + 1
        seen.add(name)
        names.append(name)
    return names


def counted(number, noun):
    """Returns `3 rows`, `1 row`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def shortened(text, most):
    """Returns `text`, cut to `most` letters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def fitting(values, room):
    """Returns as many of `values`, from the first, as take at most `room` bytes of JSON."""
    kept = []
    for value in values:
        room -= len(json.dumps(value, ensure_ascii=False).encode()) + 2
        if room < 0:
            break
        kept.append(value)
    return kept
