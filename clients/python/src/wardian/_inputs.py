"""Arguments that JSON cannot represent: which are stored as blobs, and which are refused. Does no
I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from os import PathLike
from typing import IO, Any, TypeAlias, cast

from wardian import _frames, _outputs
from wardian._files import as_binary_file
from wardian.errors import NotJson
from wardian.results import Blob, RunFile

Storable: TypeAlias = "bytes | bytearray | memoryview | PathLike[str] | IO[bytes]"
"""Content that `blobs.upload` accepts. `blobs.put_frame` stores tables."""

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")

ADVICE: Mapping[str, str] = {
    "date": "pass its `isoformat()`",
    "datetime": "pass its `isoformat()`",
    "time": "pass its `isoformat()`",
    "Timestamp": "pass its `isoformat()`",
    "timedelta": "pass its `total_seconds()`",
    "Timedelta": "pass its `total_seconds()`",
    "Decimal": "pass its `str` or `float`",
    "Fraction": "pass its `str` or `float`",
    "UUID": "pass its `str`",
    "complex": "pass its parts as two numbers",
    "set": "pass a list of its items",
    "frozenset": "pass a list of its items",
    "range": "pass a list of its items",
    "ndarray": "pass its `tolist()`, or a DataFrame of it, which is stored as a table",
    "Index": "pass its `tolist()`",
    "TextIOWrapper": "open the file in binary mode (`rb`), or give its `Path`",
    "StringIO": "pass its text (`getvalue()`)",
}
"""What to pass instead of values of a class."""


@dataclass(frozen=True)
class ToStore:
    """A value among the arguments that becomes a blob."""

    value: Any
    name: str | None
    """The name of the argument, if it is valid for a file."""


def inputs(args: object) -> Iterator[ToStore | Blob]:
    """The values that are or become blobs, in the order of the arguments, at any depth."""
    try:
        yield from _inputs(args, None)
    except RecursionError as fault:
        raise NotJson("the arguments are nested too deeply") from fault


def _inputs(value: object, name: str | None) -> Iterator[ToStore | Blob]:
    blob = _as_blob(value)
    if blob is not None:
        yield blob
    elif is_storable(value):
        yield ToStore(value, name)
    elif isinstance(value, Mapping):
        for key, member in cast("Mapping[object, object]", value).items():
            name = key if isinstance(key, str) and NAME.fullmatch(key) else None
            yield from _inputs(member, name)
    elif isinstance(value, (list, tuple)):
        for item in cast("list[object]", value):
            yield from _inputs(item, None)


def is_storable(value: object) -> bool:
    """True for a value that is stored as a blob: a table, a file, or bytes."""
    return (
        _frames.is_table(value)
        or isinstance(value, (PathLike, bytes, bytearray, memoryview))
        or as_binary_file(value) is not None
    )


def plain(value: object, stored: Mapping[int, str] | None = None) -> object:
    """The value as JSON. A blob becomes its id. So does a value whose `id()` is in `stored`.

    Without `stored`, only the form is checked. Raises `NotJson` for any other value.
    """
    return _plain(value, "", stored)


def output(value: object) -> object:
    """What a tool has returned as JSON. A blob becomes its id.

    Raises:
        NotJson: JSON cannot represent it, and nothing stores it as a blob.
    """
    value = _outputs.dumped(value)
    for found in inputs(value):
        if isinstance(found, ToStore):
            kind = type(found.value).__name__
            raise NotJson(
                f"the tool has returned a {kind}: return text, rows, or a blob from "
                "`client.blobs.upload` or `put_frame`"
            )
    return _plain(value, "output", None)


def _plain(value: object, path: str, stored: Mapping[int, str] | None) -> object:
    if value is None or isinstance(value, (str, int, float)):
        return value
    blob = _as_blob(value)
    if blob is not None:
        return blob.blob_id
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value)
        return {
            key: _plain(member, f"{path}.{key}" if path else str(key), stored)
            for key, member in members.items()
        }
    if isinstance(value, (list, tuple)):
        items = cast("list[object]", value)
        return [_plain(item, f"{path}[{at}]", stored) for at, item in enumerate(items)]
    if is_storable(value):
        if stored is None:
            return ""
        if id(value) in stored:
            return stored[id(value)]
    raise NotJson(
        f"`{path}` is a {type(value).__name__}, which JSON cannot represent: {_advice(value)}",
        parameter=path.partition(".")[0] or None,
    )


def _advice(value: object) -> str:
    kind = type(value)
    if kind.__name__ in ADVICE:
        return ADVICE[kind.__name__]
    if kind.__module__ == "numpy" and hasattr(value, "item"):
        return "pass its `item()`"
    if is_dataclass(value):
        return "pass its `dataclasses.asdict`"
    if hasattr(value, "model_dump"):
        return 'pass its `model_dump(mode="json")`'
    return (
        "pass numbers, strings, lists and dicts; a file, bytes or a DataFrame is stored as a blob, "
        "and so is anything that you convert to bytes"
    )


def _as_blob(value: object) -> Blob | None:
    """The value if it is a blob, or the blob with its content."""
    if isinstance(value, RunFile):
        return value.blob()
    return value if isinstance(value, Blob) else None
