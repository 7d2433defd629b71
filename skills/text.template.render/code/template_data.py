"""The data of a template: objects and rows, from JSON or CSV."""

import csv
import io
import json
import re

from runtime import blobs

from csv_text import CsvText, detect_encoding

# A number with zeros in front is a code, and one with many digits loses some: both stay text.
WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,17})")
DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,14})\.\d{1,15}")
START_BYTES = 4_096


def collect(args):
    """Returns the names that a template sees, with their values."""
    names = {}
    if args.get("data_blob") is not None:
        add(names, read_blob(args["data_blob"]), "data_blob")
    if args.get("data") is not None:
        add(names, args["data"], "data")
    return names


def add(names, value, argument):
    """Adds members by their names, or an array as `rows`."""
    if isinstance(value, dict):
        names.update({str(name): inner for name, inner in value.items()})
    elif isinstance(value, list):
        names["rows"] = value
    else:
        raise ValueError(
            f"`{argument}` must hold an object or an array, not {type(value).__name__}"
        )


def read_blob(blob_id):
    """Returns the value of a blob with JSON, or the rows of one with CSV."""
    with blobs.open(blob_id) as stream:
        start = stream.read(START_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
        encoding = detect_encoding(stream)[0]
    if not start.startswith((b"{", b"[")):
        return read_csv(blob_id)
    text = blobs.read_text(blob_id, encoding="utf-8-sig" if encoding == "utf-8" else encoding)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"`data_blob` begins like JSON, but is none: {error}") from None
    except RecursionError:
        raise ValueError("`data_blob` is nested too deeply") from None


def read_csv(blob_id):
    """Returns the rows as objects; columns of numbers have numbers."""
    with blobs.open(blob_id) as stream:
        text = CsvText(stream)
        stream.seek(0)
        lines = io.TextIOWrapper(stream, encoding=text.encoding, errors=text.errors, newline="")
        try:
            header, *rows = filter(None, csv.reader(lines, delimiter=text.delimiter))
        except csv.Error as error:
            raise ValueError(f"`data_blob` cannot be read as CSV: {error}") from None
        except ValueError:
            raise ValueError("`data_blob` is empty: CSV needs a header") from None
    columns = {}
    for n, name in enumerate(header):
        name = name.strip() or f"column_{n + 1}"
        columns[name] = typed([row[n] if n < len(row) else "" for row in rows])
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def typed(texts):
    """Returns numbers if all texts that are there spell some; an empty one is None then."""
    there = [text for text in texts if text]
    if there and all(map(WHOLE.fullmatch, there)):
        return [int(text) if text else None for text in texts]
    if there and all(WHOLE.fullmatch(text) or DECIMAL.fullmatch(text) for text in there):
        return [float(text) if text else None for text in texts]
    return texts
