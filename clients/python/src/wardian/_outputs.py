"""What functions return, as JSON: as their hints declare it. Does no I/O.

Models of Pydantic, dataclasses and enumerations say what they are. Dates, sets and iterators are converted
where a hint has them; without one, the program that gets them could not tell.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
import types
import typing
from collections.abc import Mapping
from typing import Any, Union, cast

from wardian._signatures import LISTS, MAPS, bare, hints_of, is_model, is_named_tuple
from wardian.results import Blob, RunFile

_PLAIN = (str, int, float, bool)
_FORMATTED = (datetime.date, datetime.time)
_ITEMS = (
    list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Set,
    collections.abc.ValuesView, collections.abc.Iterator,
)  # fmt: skip
_NO_ITEMS = (str, bytes, bytearray, memoryview)


def dumped(value: Any, hint: Any = Any) -> Any:
    """The value with JSON in place of models, dataclasses and enumerations, and of all that the hint has.

    What is left is refused elsewhere. Raises what a model raises that has no JSON.
    """
    if value is None or type(value) in _PLAIN:
        return value
    hint = _plain_hint(hint)
    if isinstance(value, (Blob, RunFile, type)):
        return cast(Any, value)
    if typing.get_origin(hint) in (Union, types.UnionType):
        hint = next((part for part in typing.get_args(hint) if _is_of(value, part)), Any)
        return dumped(value, hint)
    if isinstance(value, enum.Enum):
        return dumped(value.value)
    if is_model(value):
        return _of_model(value)
    if dataclasses.is_dataclass(value):
        hints = hints_of(type(value))
        return {
            field.name: dumped(getattr(value, field.name), hints.get(field.name, Any))
            for field in dataclasses.fields(value)
        }
    if hint in (datetime.datetime, *_FORMATTED) and isinstance(value, _FORMATTED):
        return value.isoformat()
    if isinstance(value, Mapping):
        return _of_mapping(cast("Mapping[Any, Any]", value), hint)
    return _of_items(value, hint)


def _plain_hint(hint: Any) -> Any:
    """The type without what only annotates it."""
    while True:
        if isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif typing.get_origin(hint) in (typing.Annotated, typing.Required, typing.NotRequired):
            hint = typing.get_args(hint)[0]
        else:
            return hint


def _is_of(value: Any, part: Any) -> bool:
    part = _plain_hint(part)
    if part is None:
        return value is None
    kind = typing.get_origin(part) or part
    if not isinstance(kind, type):
        return False
    if typing.is_typeddict(kind):
        return isinstance(value, Mapping)
    if isinstance(value, Mapping) and is_model(kind):
        return True
    return isinstance(value, kind) and not (kind in _ITEMS and isinstance(value, _NO_ITEMS))


def _of_model(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True)


def _of_mapping(value: Mapping[Any, Any], hint: Any) -> Any:
    if isinstance(hint, type) and is_model(hint):
        try:
            return _of_model(cast(Any, hint).model_validate(value))
        except Exception:
            # The server says what of it does not fit.
            return {key: dumped(member) for key, member in value.items()}
    if typing.is_typeddict(hint):
        hints = {name: bare(one) for name, one in hints_of(hint).items()}
        return {key: dumped(member, hints.get(key, Any)) for key, member in value.items()}
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    of_members = parts[1] if origin in MAPS and len(parts) == 2 else Any
    return {key: dumped(member, of_members) for key, member in value.items()}


def _of_items(value: Any, hint: Any) -> Any:
    if is_named_tuple(type(value)):
        hints = hints_of(type(value))
        return [dumped(one, hints.get(name, Any)) for name, one in zip(value._fields, value, strict=True)]
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    is_declared = origin in LISTS or hint in LISTS
    if isinstance(value, _NO_ITEMS) or not isinstance(value, _ITEMS if is_declared else (list, tuple)):
        return cast(Any, value)
    items = list(cast("collections.abc.Iterable[Any]", value))
    if isinstance(value, collections.abc.Set):
        items = _sorted(items)
    if origin is tuple and not (len(parts) == 2 and parts[1] is ...):
        of_each = [*parts, *[Any] * len(items)]
        return [dumped(one, part) for one, part in zip(items, of_each, strict=False)]
    of_all = parts[0] if is_declared and parts else Any
    return [dumped(one, of_all) for one in items]


def _sorted(items: list[Any]) -> list[Any]:
    """The items in an order of their own, if they have one: that of a set differs from run to run."""
    try:
        return sorted(items)
    except TypeError:
        return items
