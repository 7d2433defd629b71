"""Profiles a CSV blob: types, missing values, statistics, and a histogram as a picture."""

import json

from runtime import blobs, log

from column_profile import describe_column, plain
from csv_parts import CsvParts
from histogram import draw_column, draw_overview
from table import Table

# What is returned has to stay below the 4 KB that a caller sees inline.
INLINE_BYTES = 3_000

BRIEF_KEYS = ("name", "type", "missing", "distinct", "mean", "min", "max")


def main(args):
    """Returns the profile of `args["csv_blob"]`."""
    try:
        return profile(args)
    except MemoryError:
        raise MemoryError(
            "the file needs more memory than this run may have: pass a smaller `max_columns`, "
            "split the file, or ask for more with `limits.memory_bytes`"
        ) from None


def profile(args):
    """Reads, describes and draws; see SKILL.md for what is returned."""
    source = CsvParts(args["csv_blob"], args)
    names = source.names
    chosen = args.get("histogram_column") or None
    if chosen is not None and chosen not in names:
        known = ", ".join(f"`{name}`" for name in names[:50]) or "none"
        raise ValueError(f"there is no column `{chosen}` for `histogram_column`; columns: {known}")
    table = Table(source)
    log.info(f"read {table.rows} rows and {len(names)} columns")
    columns = [describe_column(n, c, table.rows) for n, c in zip(names, table.columns, strict=True)]
    warnings = source.all_warnings(table.mixed_names())
    output = {
        "summary": summarise(table.rows, source.column_count, columns),
        "rows": table.rows,
        "column_count": source.column_count,
        "skipped_rows": source.skipped_rows,
        "duplicate_rows": table.duplicate_rows,
        "encoding": source.text.encoding,
        "delimiter": source.text.delimiter,
        "histogram_blob": write_histogram(names, table.columns, chosen),
        "profile_blob": None,
        "warnings": [plain(text) if len(text) > 300 else text for text in warnings[:8]],
    }
    return with_columns(output, columns)


def write_histogram(names, columns, chosen):
    """Stores the picture that was asked for and returns its blob id, None without values."""
    drawn = [(n, c.values) for n, c in zip(names, columns, strict=True) if c.values is not None]
    if chosen is None:
        drawn = [(n, v.bins, v.top) for n, v in drawn if getattr(v, "is_drawable", False)]
        return blobs.write_bytes(draw_overview(drawn), kind="image/png") if drawn else None
    for name, values in drawn:
        if name == chosen:
            picture = draw_column(name, getattr(values, "bins", None), values.top)
            return blobs.write_bytes(picture, kind="image/png")
    return None


def summarise(rows, column_count, columns):
    """Returns the one sentence that a caller reads first."""
    if not column_count:
        return "The file is empty: no rows, no columns."
    kinds = [column["type"] for column in columns]
    parts = [f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)]
    text = f"{count(rows, 'row')}, {count(column_count, 'column')} ({', '.join(parts)})"
    gaps = [column for column in columns if column["missing"]]
    if not rows:
        return f"{text}: a header without rows."
    if not gaps:
        return f"{text}; no missing values."
    missing = sum(column["missing"] for column in gaps)
    worst = max(gaps, key=lambda column: column["missing"])
    return (
        f"{text}; {count(missing, 'missing value')} in {count(len(gaps), 'column')}, most in "
        f"`{plain(worst['name'])}` ({worst['missing']})."
    )


def count(number, noun):
    """Returns `3 rows`, `1 row`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def with_columns(output, columns):
    """Adds the columns' profiles: inline if they fit, else shortened, with all of it in a blob."""
    full = {**output, "columns": columns}
    if size_of(full) <= INLINE_BYTES:
        return full
    output["profile_blob"] = blobs.write_json(
        {"rows": output["rows"], "column_count": output["column_count"], "columns": columns}
    )
    output["columns"] = []
    room = INLINE_BYTES - size_of(output)
    for column in columns:
        brief = {key: plain(column[key]) for key in BRIEF_KEYS if key in column}
        room -= size_of(brief) + 2
        if room < 0:
            break
        output["columns"].append(brief)
    return output


def size_of(value):
    """Returns the bytes of `value` as JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode())
