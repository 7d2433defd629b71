"""Arguments that JSON does not have: what is stored as a blob, and what is refused. No input or
output happens here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from os import PathLike
from typing import IO, Any, TypeAlias, cast

from wardian import _frames
from wardian._files import as_binary_file
from wardian.errors import NotJson
from wardian.results import Blob, RunFile

Storable: TypeAlias = "bytes | bytearray | memoryview | PathLike[str] | IO[bytes]"
"""A content that `blobs.upload` takes. Tables are stored by `blobs.put_frame`."""

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")

ADVICE: Mapping[str, str] = {
    "date": "give its `isoformat()`",
    "datetime": "give its `isoformat()`",
    "time": "give its `isoformat()`",
    "Timestamp": "give its `isoformat()`",
    "timedelta": "give its `total_seconds()`",
    "Timedelta": "give its `total_seconds()`",
    "Decimal": "give its `str` or `float`",
    "Fraction": "give its `str` or `float`",
    "UUID": "give its `str`",
    "complex": "give its parts as two numbers",
    "set": "give a list of it",
    "frozenset": "give a list of it",
    "range": "give a list of it",
    "ndarray": "give its `tolist()`, or a DataFrame of it, which is stored as a table",
    "Index": "give its `tolist()`",
    "TextIOWrapper": "open the file in binary mode (`rb`), or give its `Path`",
    "StringIO": "give its text (`getvalue()`)",
}
"""What to give in place of values of a class."""


@dataclass(frozen=True)
class ToStore:
    """A value of the arguments that becomes a blob."""

    value: Any
    name: str | None
    """The name of the argument, if a file can have it."""


def inputs(args: object) -> Iterator[ToStore | Blob]:
    """What becomes a blob, or is one, in the order of the arguments, at any depth."""
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
    """True for what is stored as a blob: a table, a file, or bytes."""
    return (
        _frames.is_table(value)
        or isinstance(value, (PathLike, bytes, bytearray, memoryview))
        or as_binary_file(value) is not None
    )


def plain(value: object, stored: Mapping[int, str] | None = None) -> object:
    """The value as JSON. A blob becomes its id, and so does what was `stored`, by its `id()`.

    Without `stored` only the form is checked. Raises `NotJson` for what is none of these.
    """
    return _plain(value, "", stored)


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
        f"`{path}` is a {type(value).__name__}, which JSON cannot hold: {_advice(value)}",
        parameter=path.partition(".")[0] or None,
    )


def _advice(value: object) -> str:
    kind = type(value)
    if kind.__name__ in ADVICE:
        return ADVICE[kind.__name__]
    if kind.__module__ == "numpy" and hasattr(value, "item"):
        return "give its `item()`"
    if is_dataclass(value):
        return "give its `dataclasses.asdict`"
    if hasattr(value, "model_dump"):
        return 'give its `model_dump(mode="json")`'
    return (
        "give numbers, texts, lists and dicts; a file, bytes or a DataFrame is stored as a blob, "
        "and so is whatever else you make bytes of"
    )


def _as_blob(value: object) -> Blob | None:
    """The blob that the value is, or that has its content."""
    if isinstance(value, RunFile):
        return value.blob()
    return value if isinstance(value, Blob) else None
