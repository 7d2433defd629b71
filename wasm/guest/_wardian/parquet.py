"""Parquet for pandas: an engine in place of pyarrow, which is not part of this interpreter.

Everything is read and written here, inside of the sandbox; the host only packs and unpacks
pages. Columns are flat: lists, structs and maps are refused. The file's own description of the
table (the key `pandas`) is written and read as pyarrow does it, so that an index, time zones and
types of pandas survive.
"""

from __future__ import annotations

import datetime
import decimal
import json
import operator
from typing import Any

from _wardian import parquet_pages as pages
from _wardian.thrift import I8, I32, Reader, struct

_MAGIC = b"PAR1"

BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTES, FIXED = range(8)

_ROWS_OF_A_GROUP = 1 << 20

_PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}

_UNITS = {1: "ms", 2: "us", 3: "ns"}
"""Fields of the logical type's unit."""


class ParquetError(ValueError):
    """The file is not Parquet, or damaged."""


# --- reading ------------------------------------------------------------------------------------


class _Column:
    """A leaf of the schema: its name, physical type and logical type."""

    def __init__(self, element: dict[int, Any], path: list[str], levels: tuple[int, int]) -> None:
        self.name = element[4].decode()
        self.path = path
        self.physical = element.get(1)
        self.length = element.get(2, 0)
        self.converted = element.get(6)
        self.scale = element.get(7, 0)
        self.logical = element.get(10) or {}
        self.max_definition, self.max_repetition = levels

    @property
    def is_flat(self) -> bool:
        return len(self.path) == 1 and not self.max_repetition

    def kind(self) -> tuple[str, Any]:
        """The kind of values, and a detail of it."""
        logical, converted = self.logical, self.converted
        if 1 in logical or 4 in logical or 12 in logical or converted in (0, 4, 19):
            return "text", None
        if 11 in logical:
            return "nothing", None
        if 5 in logical or converted == 5:
            return "decimal", (logical.get(5) or {}).get(1, self.scale)
        if 6 in logical or converted == 6:
            return "date", None
        if 7 in logical or converted in (7, 8):
            unit = logical[7].get(2) if 7 in logical else {converted - 6: {}}
            return "time", _UNITS[next(iter(unit))]
        if 8 in logical or converted in (9, 10):
            stamp = logical.get(8) or {1: True, 2: {converted - 8 if converted else 1: {}}}
            return "timestamp", (_UNITS[next(iter(stamp[2]))], stamp.get(1, False))
        if 10 in logical or converted in range(11, 19):
            if 10 in logical:
                bits, signed = logical[10].get(1, 32), logical[10].get(2, True)
            else:
                bits, signed = 8 << (converted - 11) % 4, converted >= 15
            return "integer", f"{'i' if signed else 'u'}{bits // 8}"
        if 15 in logical:
            return "half", None
        if self.physical == INT96:
            return "int96", None
        return "plain", None


def _columns(schema: list[dict[int, Any]]) -> list[_Column]:
    """The leaves of a schema, which is a tree in order."""
    found: list[_Column] = []
    position = 1

    def walk(count: int, path: list[str], definition: int, repetition: int) -> None:
        nonlocal position
        for _ in range(count):
            if position >= len(schema) or len(path) > 64:
                raise ParquetError("the schema is damaged")
            element = schema[position]
            position += 1
            repeated = element.get(3, 0)
            levels = definition + (repeated != 0), repetition + (repeated == 2)
            here = [*path, element[4].decode()]
            if element.get(5):
                walk(element[5], here, *levels)
            else:
                found.append(_Column(element, here, levels))

    walk(schema[0].get(5, 0), [], 0, 0)
    return found


def _footer(data: memoryview) -> dict[int, Any]:
    if len(data) < 12 or data[-4:] != _MAGIC or data[:4] != _MAGIC:
        raise ParquetError(
            "Parquet magic bytes not found in footer. Either the file is corrupted or this is not "
            "a parquet file."
        )
    length = int.from_bytes(data[-8:-4], "little")
    if length > len(data) - 12:
        raise ParquetError("the file's footer is damaged")
    return Reader(data[len(data) - 8 - length : -8]).struct()


def read(data: Any, columns: list[str] | None = None, filters: Any = None) -> Any:
    """The table of a file's bytes, as a `pandas.DataFrame`."""
    import pandas

    groups = _groups_of(filters)

    view = memoryview(data)
    try:
        footer = _footer(view)
        leaves = _columns(footer[2])
        metadata = _pandas_metadata(footer)
        wanted = _wanted(leaves, columns, metadata)
        made = {leaf.name: _series(view, footer, leaf, metadata) for leaf in wanted}
        rows = sum(group[3] for group in footer[4])
        if groups:
            known = {leaf.path[0]: leaf for leaf in leaves}
            asked = {name for group in groups for name, _, _ in group}
            for name in asked - made.keys():
                if name not in known:
                    raise ParquetError(f"No match for FieldRef.Name({name})")
                _ensure_flat(known[name])
            tested = {
                name: made[name] if name in made else _series(view, footer, known[name], metadata)
                for name in asked
            }
            kept = _kept(tested, groups, rows)
            made = {name: series[kept].reset_index(drop=True) for name, series in made.items()}
            rows = int(kept.sum())
        table = pandas.DataFrame(made, index=pandas.RangeIndex(rows))
        table = _with_index(table, metadata, columns)
        table.attrs = dict(metadata.get("attributes") or {})
        return table
    except (AttributeError, LookupError, StopIteration, TypeError, UnicodeError) as fault:
        raise ParquetError(f"the file is damaged ({type(fault).__name__})") from None


def _pandas_metadata(footer: dict[int, Any]) -> dict[str, Any]:
    for pair in footer.get(5) or []:
        if pair.get(1) == b"pandas":
            return json.loads(pair[2])  # type: ignore[no-any-return]
    return {}


def _index_fields(metadata: dict[str, Any]) -> list[str]:
    return [field for field in metadata.get("index_columns", []) if isinstance(field, str)]


def _wanted(
    leaves: list[_Column], columns: list[str] | None, metadata: dict[str, Any]
) -> list[_Column]:
    if columns is not None:
        names = {leaf.path[0] for leaf in leaves}
        for name in columns:
            if name not in names:
                raise ParquetError(f"No match for FieldRef.Name({name})")
        asked = [*columns, *(field for field in _index_fields(metadata) if field not in columns)]
        by_name: dict[str, list[_Column]] = {}
        for leaf in leaves:
            by_name.setdefault(leaf.path[0], []).append(leaf)
        leaves = [leaf for name in asked if name in names for leaf in by_name[name]]
    for leaf in leaves:
        _ensure_flat(leaf)
    return leaves


def _ensure_flat(leaf: _Column) -> None:
    if not leaf.is_flat:
        raise NotImplementedError(
            f"the column {leaf.path[0]!r} holds lists or structs, which cannot be read here; "
            "name the columns to read with columns=[...]"
        )


# --- filters ------------------------------------------------------------------------------------

_TESTS = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
    "<=": operator.le, ">=": operator.ge,
}  # fmt: skip


def _groups_of(filters: Any) -> list[list[tuple[str, str, Any]]]:
    """Groups of tests: a row is kept if it passes all tests of one group."""
    if filters is None:
        return []
    if not isinstance(filters, (list, tuple)):
        raise NotImplementedError(
            "filters=... is a list of tuples (column, operator, value) here; pyarrow is not there"
        )
    if not len(filters):
        raise ValueError("Malformed filters")
    nested = all(isinstance(part, list) for part in filters)
    groups = list(filters) if nested else [filters]
    for group in groups:
        for test in group:
            if not isinstance(test, (list, tuple)) or len(test) != 3:
                raise ValueError("Malformed filters")
            if "in" in test[1] and not hasattr(test[2], "__iter__"):
                raise TypeError(f"{test[2]!r} must be a collection for the operator {test[1]!r}")
            if test[1] not in _TESTS and test[1] not in ("in", "not in"):
                raise ValueError(f'"{test[:3]}" is not a valid operator in predicates.')
    return groups


def _kept(tested: dict[str, Any], groups: list[list[tuple[str, str, Any]]], rows: int) -> Any:
    """The mask of rows that pass. A missing value passes only `not in`, as in pyarrow."""
    import numpy

    kept = numpy.zeros(rows, bool)
    for group in groups:
        passed = numpy.ones(rows, bool)
        for name, sign, value in group:
            series = tested[name]
            if str(series.dtype) == "category":
                series = series.astype(series.cat.categories.dtype)
            there = series.notna().to_numpy(bool)
            if sign in ("in", "not in"):
                found = series.isin(list(value)).to_numpy(bool)
                passed &= found if sign == "in" else ~found
            else:
                result = numpy.zeros(rows, bool)
                is_text = str(series.dtype) in ("str", "string")
                if series.dtype != object and isinstance(value, str) != is_text:
                    raise NotImplementedError(
                        f"filters: {name!r} of the type {series.dtype} cannot be compared with "
                        f"{value!r}"
                    )
                try:
                    tests = _TESTS[sign](series[there], value)
                except TypeError as fault:
                    raise NotImplementedError(f"filters: {fault}") from None
                result[there] = tests.to_numpy(bool)
                passed &= result
        kept |= passed
    return kept


def _series(
    data: memoryview, footer: dict[int, Any], leaf: _Column, metadata: dict[str, Any]
) -> Any:
    """All values of a column."""
    chunks = []
    for group in footer[4]:
        chunk = next(c[3] for c in group[1] if c[3][3] == [part.encode() for part in leaf.path])
        chunks.append(pages.read_chunk(data, chunk, leaf))
    described = _described(metadata, leaf.name)
    if described.get("pandas_type") == "categorical" and leaf.physical == BYTES:
        return _categorical(chunks, leaf, described)
    values, valid = pages.joined([chunk.values() for chunk in chunks], leaf)
    return _as_pandas(leaf, values, valid, described)


def _described(metadata: dict[str, Any], field: str) -> dict[str, Any]:
    for column in metadata.get("columns", []):
        if column.get("field_name") == field or column.get("name") == field:
            return column  # type: ignore[no-any-return]
    return {}


def _categorical(chunks: list[Any], leaf: _Column, described: dict[str, Any]) -> Any:
    import numpy
    import pandas

    values, valid = pages.joined([chunk.values() for chunk in chunks], leaf)
    flat = _as_pandas(leaf, values, valid, {})
    known = [chunk.dictionary for chunk in chunks if chunk.dictionary is not None]
    if known:
        whole = numpy.ones(len(known[0]), bool)
        categories = _as_pandas(leaf, known[0], whole, {}).drop_duplicates()
    else:
        categories = flat.dropna().drop_duplicates()
    missing = flat.dropna()[~flat.dropna().isin(categories)].drop_duplicates()
    ordered = bool((described.get("metadata") or {}).get("ordered"))
    categories = pandas.concat([categories, missing]) if len(missing) else categories
    kind = pandas.CategoricalDtype(pandas.Index(categories), ordered)
    return pandas.Series(pandas.Categorical(flat, dtype=kind))


def _as_pandas(leaf: _Column, values: Any, valid: Any, described: dict[str, Any]) -> Any:
    """Converts values and their validity to a column with the type that pyarrow gives."""
    import numpy
    import pandas

    kind, detail = leaf.kind()
    all_valid = bool(valid.all())
    stated = str(described.get("numpy_type", ""))
    if kind == "nothing" or described.get("pandas_type") == "empty":
        return pandas.Series([None] * len(valid), dtype=object)
    if kind == "text":
        texts = [bytes(value).decode() if there else None for value, there in zip(values, valid)]
        series = pandas.Series(texts, dtype="str")
        return series.astype(stated) if stated in ("string", "string[python]") else series
    if kind in ("timestamp", "int96"):
        return _timestamps(leaf, values, valid, described)
    if kind in ("date", "time", "decimal"):
        make = {"date": _date, "time": _time, "decimal": _decimal}[kind]
        values = values if isinstance(values, list) else values.tolist()
        made = [make(v, detail) if there else None for v, there in zip(values, valid)]
        return pandas.Series(made, dtype=object)
    if leaf.physical in (BYTES, FIXED) and kind != "half":
        made = [bytes(v) if there else None for v, there in zip(values, valid)]
        return pandas.Series(made, dtype=object)
    if kind == "half":
        # Missing values have no bytes.
        values = numpy.frombuffer(b"".join(value or b"\0\0" for value in values), "<f2")
    if kind == "integer":
        values = values.astype(detail)
    if stated.startswith("timedelta64"):
        series = pandas.Series(values.astype("i8").view(stated))
        return series.where(pandas.Series(valid))
    if stated.startswith("period["):
        ordinals = numpy.where(valid, values.astype("i8"), pandas.NaT.value)
        return pandas.Series(pandas.arrays.PeriodArray(ordinals, dtype=stated))
    if described.get("pandas_type") == "object" and leaf.physical in (INT32, INT64):
        # Only pyarrow's own schema has the type of these numbers.
        raise NotImplementedError(
            f"the column {leaf.name!r} was written from Python objects, whose type is not known "
            "here; write it with a type such as timedelta64[us]"
        )
    if stated in _NULLABLE:
        plain = "bool" if stated == "boolean" else stated.lower()
        made = pandas.array(values.astype(plain), dtype=stated)
        made[~valid] = pandas.NA
        return pandas.Series(made)
    if all_valid:
        return pandas.Series(values)
    if leaf.physical == BOOLEAN:
        made = values.astype(object)
        made[~valid] = None
        return pandas.Series(made, dtype=object)
    if values.dtype.kind in "iu":
        values = values.astype("f8")
    return pandas.Series(numpy.where(valid, values, numpy.array(numpy.nan, values.dtype)))


_NULLABLE = (
    "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64",
    "boolean",
)  # fmt: skip


def _timestamps(leaf: _Column, values: Any, valid: Any, described: dict[str, Any]) -> Any:
    import numpy
    import pandas

    kind, detail = leaf.kind()
    unit, is_utc = detail if kind == "timestamp" else ("ns", False)
    moments = values.astype("i8").view(f"M8[{unit}]").copy()
    moments[~valid] = numpy.datetime64("NaT")
    stated = str(described.get("numpy_type", ""))
    series = pandas.Series(moments)
    if not is_utc:
        return series
    zone = (described.get("metadata") or {}).get("timezone") or "UTC"
    return series.dt.tz_localize("UTC").dt.tz_convert(zone)


def _date(days: int, detail: Any) -> datetime.date:
    return datetime.date(1970, 1, 1) + datetime.timedelta(days)


def _time(count: int, unit: str) -> datetime.time:
    micros = count * 10**6 // _PER_SECOND[unit]
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=micros)).time()


def _decimal(value: Any, scale: int) -> decimal.Decimal:
    number = value if isinstance(value, int) else int.from_bytes(value, "big", signed=True)
    sign, digits = int(number < 0), tuple(map(int, str(abs(number))))
    return decimal.Decimal((sign, digits, -scale))


def _with_index(table: Any, metadata: dict[str, Any], columns: list[str] | None) -> Any:
    """Restores the index, and column names that are not text."""
    import pandas

    names = {c.get("field_name"): c.get("name") for c in metadata.get("columns", [])}
    fields = [field for field in _index_fields(metadata) if field in table.columns]
    described = metadata.get("index_columns", [])
    if columns is not None:
        fields = [field for field in fields if field not in columns]
    if fields:
        levels = [table.pop(field) for field in fields]
        levels_names = [names.get(field, field) for field in fields]
        if len(levels) == 1:
            table.index = pandas.Index(levels[0])
            table.index.name = levels_names[0]
        else:
            table.index = pandas.MultiIndex.from_arrays(levels, names=levels_names)
    elif described and isinstance(described[0], dict):
        rule = described[0]
        index = pandas.RangeIndex(rule["start"], rule["stop"], rule["step"], name=rule["name"])
        if len(index) == len(table):
            table.index = index
    heads = metadata.get("column_indexes") or []
    if len(heads) == 1:
        if heads[0].get("pandas_type") in ("int64", "integer"):
            table.columns = table.columns.astype("int64")
        table.columns.name = heads[0].get("name")
    return table


# --- writing ------------------------------------------------------------------------------------


class _Written:
    """A column that is being written."""

    def __init__(self, name: str, physical: int, values: Any, valid: Any) -> None:
        self.name = name
        self.physical = physical
        self.values = values
        self.valid = valid
        self.converted: int | None = None
        self.logical: dict[int, Any] | None = None
        self.length: int | None = None
        self.scale: int | None = None
        self.precision: int | None = None
        self.dictionary: Any = None
        self.pandas_type = ""
        self.details: Any = None

    def element(self) -> dict[int, Any]:
        """The column in the schema; all are optional, as pyarrow writes them."""
        small = {1: self.physical, 2: self.length, 3: 1, 6: self.converted}
        small |= {7: self.scale, 8: self.precision}
        numbers = {key: None if value is None else I32(value) for key, value in small.items()}
        return numbers | {4: self.name.encode(), 10: self.logical}


def _written(name: str, series: Any) -> _Written:
    """Converts a column of pandas for writing."""
    import numpy
    import pandas

    kind = series.dtype
    if isinstance(kind, pandas.SparseDtype):
        raise TypeError(f"Sparse pandas data (column {name}) not supported.")
    valid = series.notna().to_numpy(bool)
    if isinstance(kind, pandas.CategoricalDtype):
        return _written_categories(name, series, valid)
    if isinstance(kind, pandas.DatetimeTZDtype) or kind.kind == "M":
        return _written_timestamps(name, series, valid)
    if kind.kind == "m":
        column = _Written(name, INT64, series.to_numpy().view("i8"), valid)
        column.pandas_type = "timedelta"
        return column
    if kind.kind == "b":
        values = series.fillna(False).to_numpy(bool) if not valid.all() else series.to_numpy(bool)
        column = _Written(name, BOOLEAN, values, valid)
        column.pandas_type = "bool"
        return column
    if kind.kind in "iu":
        return _written_integers(name, series, valid)
    if kind == numpy.float16:
        values = [value.tobytes() for value in series.to_numpy("<f2")]
        column = _Written(name, FIXED, values, valid)
        column.length, column.logical, column.pandas_type = 2, {15: {}}, "float16"
        return column
    if kind.kind == "f":
        size = getattr(kind, "itemsize", 8)
        plain = series.to_numpy(f"f{max(size, 4)}", na_value=numpy.nan)
        column = _Written(name, FLOAT if size <= 4 else DOUBLE, plain, valid)
        column.pandas_type = f"float{size * 8}"
        return column
    if isinstance(kind, pandas.StringDtype):
        return _written_texts(name, series, valid)
    if kind == object:
        return _written_objects(name, series, valid)
    raise NotImplementedError(
        f"the column {name!r} of type {kind} cannot be written as Parquet here; convert it, for "
        "example with .astype(str)"
    )


def _written_integers(name: str, series: Any, valid: Any) -> _Written:
    import pandas

    kind = series.dtype
    numpy_kind = getattr(kind, "numpy_dtype", kind)
    bits, signed = numpy_kind.itemsize * 8, numpy_kind.kind == "i"
    values = series.array
    if isinstance(kind, pandas.api.extensions.ExtensionDtype):
        values = series.to_numpy(numpy_kind, na_value=0)
    else:
        values = series.to_numpy()
    wide = bits == 64
    column = _Written(name, INT64 if wide else INT32, values.astype("i8" if wide else "i4"), valid)
    column.pandas_type = f"{'' if signed else 'u'}int{bits}"
    if bits < 32 or not signed:
        column.logical = {10: {1: I8(bits), 2: signed}}
        column.converted = {8: 0, 16: 1, 32: 2, 64: 3}[bits] + (15 if signed else 11)
    return column


def _written_timestamps(name: str, series: Any, valid: Any) -> _Written:
    zone = getattr(series.dtype, "tz", None)
    if zone is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    unit = series.dtype.name.partition("[")[2].rstrip("]")
    if unit == "s":
        unit, series = "ms", series.astype("M8[ms]")
    column = _Written(name, INT64, series.to_numpy().view("i8"), valid)
    number = {"ms": 1, "us": 2, "ns": 3}[unit]
    column.logical = {8: {1: zone is not None, 2: {number: {}}}}
    if unit != "ns" and zone is not None:
        column.converted = 8 + number
    column.pandas_type = "datetimetz" if zone is not None else "datetime"
    column.details = {"timezone": str(zone)} if zone is not None else None
    return column


def _written_texts(name: str, series: Any, valid: Any) -> _Written:
    values = [value.encode() if there else b"" for value, there in zip(series, valid)]
    column = _Written(name, BYTES, values, valid)
    column.logical, column.converted, column.pandas_type = {1: {}}, 0, "unicode"
    return column


def _written_categories(name: str, series: Any, valid: Any) -> _Written:
    import pandas

    column = _written(name, pandas.Series(series.cat.categories))
    column.dictionary = column.values
    column.values, column.valid = series.cat.codes.to_numpy(), valid
    column.pandas_type = "categorical"
    count = len(series.cat.categories)
    column.details = {"num_categories": count, "ordered": bool(series.cat.ordered)}
    return column


def _written_objects(name: str, series: Any, valid: Any) -> _Written:
    """Python objects of one kind."""
    import pandas

    there = series[valid]
    kind = pandas.api.types.infer_dtype(there, skipna=True) if len(there) else "empty"
    if kind in ("string", "empty"):
        column = _written_texts(name, series, valid)
        column.pandas_type = "unicode" if kind == "string" else "empty"
        return column
    if kind == "boolean":
        return _filled(_written(name, series.where(valid, False).astype(bool)), valid)
    if kind == "integer":
        return _filled(_written(name, series.where(valid, 0).astype("int64")), valid)
    if kind in ("floating", "mixed-integer-float"):
        return _written(name, series.astype("float64"))
    if kind == "bytes":
        values = [value if ok else b"" for value, ok in zip(series, valid)]
        column = _Written(name, BYTES, values, valid)
        column.pandas_type = "bytes"
        return column
    if kind == "date":
        first = datetime.date(1970, 1, 1)
        days = [(value - first).days if ok else 0 for value, ok in zip(series, valid)]
        column = _Written(name, INT32, pages.integers(days, "i4"), valid)
        column.logical, column.converted, column.pandas_type = {6: {}}, 6, "date"
        return column
    if kind == "time":
        micros = [_micros(value) if ok else 0 for value, ok in zip(series, valid)]
        column = _Written(name, INT64, pages.integers(micros, "i8"), valid)
        column.logical, column.pandas_type = {7: {1: False, 2: {2: {}}}}, "time"
        return column
    if kind in ("datetime", "datetime64"):
        return _written_timestamps(name, pandas.to_datetime(series), valid)
    if kind == "decimal":
        return _written_decimals(name, series, valid)
    raise TypeError(
        f"the column {name!r} holds Python objects ({kind}) that cannot be written as Parquet "
        "here; convert it to one type, for example with .astype(str) or json.dumps"
    )


def _filled(column: _Written, valid: Any) -> _Written:
    column.valid = valid
    return column


def _micros(value: datetime.time) -> int:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 10**6 + value.microsecond


def _written_decimals(name: str, series: Any, valid: Any) -> _Written:
    parts = [value.as_tuple() for value in series[valid]]
    if any(not isinstance(part.exponent, int) for part in parts):
        raise ValueError(f"the column {name!r} holds decimals that are no numbers")
    scale = max([-part.exponent for part in parts] + [0])
    whole = max([len(part.digits) + part.exponent for part in parts] + [1])
    precision = max(whole, 0) + scale
    if precision > 38:
        raise ValueError(f"the column {name!r} holds decimals of more than 38 digits")
    numbers = [int(value.scaleb(scale)) if ok else 0 for value, ok in zip(series, valid)]
    values = [number.to_bytes(16, "big", signed=True) for number in numbers]
    column = _Written(name, FIXED, values, valid)
    column.length, column.scale, column.precision, column.converted = 16, scale, precision, 5
    column.logical = {5: {1: I32(scale), 2: I32(precision)}}
    column.pandas_type = "decimal"
    column.details = {"precision": precision, "scale": scale}
    return column


def write(table: Any, compression: str | None = "snappy", index: bool | None = None) -> bytes:
    """The bytes of a file with this table."""
    import pandas

    codec = pages.codec_number(compression)
    columns: list[tuple[str, Any, Any]] = [
        (str(name), name, table.iloc[:, at]) for at, name in enumerate(table.columns)
    ]
    names = [name for name, _, _ in columns]
    if len(set(names)) < len(names):
        raise ValueError(f"Duplicate column names found: {names}")
    described: list[Any] = []
    is_range = isinstance(table.index, pandas.RangeIndex)
    if index is None and is_range:
        rule = table.index
        bounds = {"start": rule.start, "stop": rule.stop, "step": rule.step}
        described.append({"kind": "range", "name": rule.name, **bounds})
    elif index is not False:
        for level in range(table.index.nlevels):
            values = table.index.get_level_values(level)
            free = values.name is not None and str(values.name) not in names
            field = str(values.name) if free else f"__index_level_{level}__"
            columns.append((field, values.name, values.to_series(index=range(len(values)))))
            described.append(field)
    written = [_written(field, series.reset_index(drop=True)) for field, _, series in columns]
    metadata = _metadata(table, columns, written, described)
    return _file(written, len(table), metadata, codec)


def _metadata(table: Any, columns: list[Any], written: list[_Written], index: list[Any]) -> bytes:
    import pandas

    entries = [
        {
            "name": None if name is None else str(name),
            "field_name": field,
            "pandas_type": column.pandas_type,
            "numpy_type": _numpy_type(series.dtype),
            "metadata": column.details,
        }
        for (field, name, series), column in zip(columns, written)
    ]
    heads = table.columns
    kind = "int64" if heads.dtype.kind == "i" else "unicode"
    details = {"encoding": "UTF-8"} if kind == "unicode" else None
    head = {
        "name": heads.name, "field_name": heads.name, "pandas_type": kind,
        "numpy_type": str(heads.dtype), "metadata": details,
    }  # fmt: skip
    text = {
        "index_columns": index, "column_indexes": [head], "columns": entries,
        "attributes": table.attrs,
        "partition_columns": [], "creator": {"library": "wardian", "version": "0.1.0"},
        "pandas_version": pandas.__version__,
    }  # fmt: skip
    return json.dumps(text).encode()


def _numpy_type(kind: Any) -> str:
    import pandas

    if isinstance(kind, pandas.DatetimeTZDtype):
        return f"datetime64[{kind.unit}]"
    if isinstance(kind, pandas.CategoricalDtype):
        return "int8"
    return str(kind)


def _file(columns: list[_Written], rows: int, metadata: bytes, codec: int) -> bytes:
    out = bytearray(_MAGIC)
    groups = []
    for start in range(0, max(rows, 1), _ROWS_OF_A_GROUP):
        end = min(start + _ROWS_OF_A_GROUP, rows)
        chunks = [pages.write_chunk(out, column, start, end, codec) for column in columns]
        size = sum(chunk[3][6] for chunk in chunks)
        groups.append({1: chunks, 2: size, 3: end - start})
    schema = [{4: b"schema", 5: I32(len(columns))}, *(column.element() for column in columns)]
    footer = struct(
        {
            1: I32(2),
            2: schema,
            3: rows,
            4: groups,
            5: [{1: b"pandas", 2: metadata}],
            6: b"wardian 0.1.0",
        }
    )
    out += footer + len(footer).to_bytes(4, "little") + _MAGIC
    return bytes(out)


# --- the engine ---------------------------------------------------------------------------------


def add_engine(module: Any) -> None:
    """Lets `pandas.io.parquet` find this engine, for `auto` and for `pyarrow`."""
    get_engine = module.get_engine

    class Engine(module.BaseImpl):  # type: ignore[misc, name-defined]
        def write(
            self,
            df: Any,
            path: Any,
            compression: str | None = "snappy",
            index: bool | None = None,
            storage_options: Any = None,
            partition_cols: Any = None,
            filesystem: Any = None,
            **kwargs: Any,
        ) -> None:
            self.validate_dataframe(df)
            given = {"partition_cols": partition_cols, "filesystem": filesystem} | kwargs
            _refuse(given, "to_parquet")
            made = write(df, compression, index)
            with module.get_handle(path, "wb", is_text=False) as handles:
                handles.handle.write(made)

        def read(
            self,
            path: Any,
            columns: Any = None,
            filters: Any = None,
            dtype_backend: Any = None,
            storage_options: Any = None,
            filesystem: Any = None,
            to_pandas_kwargs: Any = None,
            **kwargs: Any,
        ) -> Any:
            given = {"filesystem": filesystem, "to_pandas_kwargs": to_pandas_kwargs}
            _refuse(given | kwargs, "read_parquet")
            if dtype_backend == "pyarrow":
                raise ImportError("dtype_backend='pyarrow' needs pyarrow, which is not available")
            with module.get_handle(path, "rb", is_text=False) as handles:
                table = read(handles.handle.read(), columns, filters)
            return table.convert_dtypes() if dtype_backend == "numpy_nullable" else table

    def find(engine: str) -> Any:
        if engine in ("auto", "pyarrow"):
            return Engine()
        return get_engine(engine)

    module.get_engine = find


def _refuse(given: dict[str, Any], function: str) -> None:
    for name, value in given.items():
        if value is not None:
            raise NotImplementedError(
                f"{function}(..., {name}=...) is not available here: pyarrow is not there"
            )
