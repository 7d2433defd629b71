"""JSON Schemas of functions, from their type hints, and arguments as these hints want them. Does no I/O.

Dataclasses and models of Pydantic, if it is installed, are objects. What a hint does not say is left open.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any, Literal, TypeAlias, Union, cast

from wardian.results import Blob, RunFile

Schema: TypeAlias = dict[str, Any]
"""A JSON Schema."""

DEPTH_MAX = 12
"""Most levels of types within types that a schema describes."""

Mode: TypeAlias = Literal["validation", "serialization"]
"""Whether a schema is that of an argument or of an output: models of Pydantic have one for each."""

_PLAIN: dict[Any, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    None: "null",
    dict: "object",
    list: "array",
    tuple: "array",
    set: "array",
    frozenset: "array",
}
_FORMATS: dict[Any, str] = {
    datetime.datetime: "date-time",
    datetime.date: "date",
    datetime.time: "time",
}
LISTS = (
    list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable,
    collections.abc.Collection, collections.abc.Set, collections.abc.MutableSequence,
)  # fmt: skip
MAPS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def schemas_of(function: Callable[..., Any]) -> Schema:
    """The members `input_schema` and `output_schema` of a tool, as far as its signature tells.

    Raises:
        TypeError: The function has parameters without names, which no caller can fill.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return {}
    hints = hints_of(function)
    properties: Schema = {}
    required: list[str] = []
    is_open = False
    for name, parameter in signature.parameters.items():
        if parameter.kind is Parameter.VAR_KEYWORD:
            is_open = True
        elif parameter.kind in _NAMED:
            properties[name] = _of_parameter(hints.get(name, Any), parameter)
            if parameter.default is Parameter.empty:
                required.append(name)
        elif parameter.kind is Parameter.POSITIONAL_ONLY and parameter.default is Parameter.empty:
            shown = getattr(function, "__name__", function)
            raise TypeError(f"arguments of tools have names, and `{name}` of `{shown}` has none")
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if not is_open:
        schema["additionalProperties"] = False
    declared: Schema = {"input_schema": _rooted(schema)}
    output = schema_of(hints["return"], mode="serialization") if "return" in hints else {}
    return {**declared, "output_schema": _rooted(output)} if output else declared


def _rooted(schema: Schema) -> Schema:
    """The schema with the definitions of models at its root, where their references look for them."""
    given: Schema = {}
    made: Schema = {}

    def moved(node: Any, names: Mapping[str, str]) -> Any:
        if isinstance(node, list):
            return [moved(one, names) for one in cast("list[Any]", node)]
        if not isinstance(node, dict):
            return node
        members = cast(Schema, node)
        own: Schema = members.get("$defs", {})
        news = {name: _free_name(given, name, one) for name, one in own.items()}
        fresh = [name for name in own if news[name] not in given]
        given.update({news[name]: own[name] for name in fresh})
        names = {**names, **news}
        made.update({news[name]: moved(own[name], names) for name in fresh})
        return {key: member(key, one, names) for key, one in members.items() if key != "$defs"}

    def member(key: str, value: Any, names: Mapping[str, str]) -> Any:
        if key in ("default", "enum", "const", "examples"):
            return value
        if key == "properties":
            return {name: moved(one, names) for name, one in value.items()}
        if key == "$ref" and isinstance(value, str):
            place, _, name = value.rpartition("/")
            return f"{place}/{names.get(name, name)}"
        return moved(value, names)

    found = moved(schema, {})
    return {**found, "$defs": made} if made else found


def _free_name(given: Schema, name: str, definition: Any) -> str:
    """A name that no other definition has."""
    free, count = name, 1
    while given.get(free, definition) != definition:
        count += 1
        free = f"{name}_{count}"
    return free


def filled(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with dataclasses, models and enumerations where the hints have them.

    Raises:
        TypeError: An argument does not fit.
        ValueError: An argument does not fit.
    """
    hints = hints_of(function)
    return {name: _as_hinted(value, hints.get(name, Any), 0) for name, value in arguments.items()}


def schema_of(hint: Any, depth: int = 0, mode: Mode = "validation") -> Schema:
    """The JSON Schema of a type. Empty for one that says nothing."""
    if depth > DEPTH_MAX:
        return {}
    if isinstance(hint, typing.NewType):
        return schema_of(hint.__supertype__, depth + 1, mode)
    if isinstance(hint, type):
        found = _of_class(hint, depth, mode)
        if found is not None:
            return found
    if hint is None:
        return {"type": "null"}
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        note = next((part for part in parts[1:] if isinstance(part, str)), None)
        schema = schema_of(parts[0], depth + 1, mode)
        return schema if note is None else {**schema, "description": note}
    if origin is Literal:
        return {"enum": [part.value if isinstance(part, enum.Enum) else part for part in parts]}
    if origin in (Union, types.UnionType):
        return _any_of([schema_of(part, depth + 1, mode) for part in parts])
    if origin in MAPS or hint in MAPS:
        values = schema_of(parts[1], depth + 1, mode) if len(parts) == 2 else {}
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    if origin in LISTS or hint in LISTS:
        return _of_list(origin, parts, depth, mode)
    return {}


def _of_class(kind: Any, depth: int, mode: Mode) -> Schema | None:
    """The schema of a class; `None` for a type with parts, such as `list[int]`."""
    if typing.get_origin(kind) is not None or kind in MAPS or kind in LISTS:
        return None
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if kind in _FORMATS:
        return {"type": "string", "format": _FORMATS[kind]}
    if issubclass(kind, enum.Enum):
        return {"enum": [member.value for member in kind]}
    if issubclass(kind, (Blob, RunFile)):
        # Its id stands for it.
        return {"type": "string"} if mode == "serialization" else {}
    if is_model(kind):
        return cast(Schema, kind.model_json_schema(mode=mode))
    if dataclasses.is_dataclass(kind):
        fields = [field for field in dataclasses.fields(kind) if field.init]
        missing = dataclasses.MISSING
        needed = [
            field.name
            for field in fields
            if field.default is missing and field.default_factory is missing
        ]
        return _of_members(kind, [field.name for field in fields], needed, depth, mode)
    if is_named_tuple(kind):
        return _of_named_tuple(kind, depth, mode)
    if typing.is_typeddict(kind):
        # Without evaluation, the class itself takes `NotRequired[...]` for a type.
        keys: frozenset[str] = kind.__required_keys__
        members = hints_of(kind)
        marks = {name: typing.get_origin(hint) for name, hint in members.items()}
        needed = [
            name
            for name, mark in marks.items()
            if mark is typing.Required or (name in keys and mark is not typing.NotRequired)
        ]
        return _of_members(kind, list(members), needed, depth, mode)
    return {}


def _of_members(
    kind: Any, names: list[str], needed: list[str], depth: int, mode: Mode
) -> Schema:
    hints = hints_of(kind)
    members = {name: schema_of(bare(hints.get(name, Any)), depth + 1, mode) for name in names}
    schema: Schema = {"type": "object", "properties": members}
    return {**schema, "required": needed} if needed else schema


def _of_named_tuple(kind: Any, depth: int, mode: Mode) -> Schema:
    hints = hints_of(kind)
    names: tuple[str, ...] = kind._fields
    return {
        "type": "array",
        "prefixItems": [schema_of(hints.get(name, Any), depth + 1, mode) for name in names],
        "minItems": len(names) - (len(kind._field_defaults) if mode == "validation" else 0),
        "maxItems": len(names),
    }


def bare(hint: Any) -> Any:
    """The type in `Required[...]` and `NotRequired[...]`."""
    if typing.get_origin(hint) in (typing.Required, typing.NotRequired):
        return typing.get_args(hint)[0]
    return hint


def _of_list(origin: Any, parts: tuple[Any, ...], depth: int, mode: Mode) -> Schema:
    items: Schema = {}
    if origin is not tuple and len(parts) == 1:
        items = schema_of(parts[0], depth + 1, mode)
    elif origin is tuple and len(parts) == 2 and parts[1] is ...:
        items = schema_of(parts[0], depth + 1, mode)
    return {"type": "array", **({"items": items} if items else {})}


def _any_of(schemas: list[Schema]) -> Schema:
    if {} in schemas:
        return {}
    unique = [schema for at, schema in enumerate(schemas) if schema not in schemas[:at]]
    if len(unique) == 1:
        return unique[0]
    if all(list(schema) == ["type"] for schema in unique):
        return {"type": [schema["type"] for schema in unique]}
    return {"anyOf": unique}


def _of_parameter(hint: Any, parameter: Parameter) -> Schema:
    schema = schema_of(hint)
    default = parameter.default
    if isinstance(default, enum.Enum):
        default = default.value
    if default is None or isinstance(default, (str, bool, int, float)):
        return {**schema, "default": default}
    return schema


def hints_of(thing: Any) -> dict[str, Any]:
    """The type hints of a function or a class, as far as they can be resolved."""
    if not isinstance(thing, type) and not inspect.isroutine(thing):
        thing = getattr(thing, "__call__", thing)  # noqa: B004
    try:
        return typing.get_type_hints(thing, include_extras=True)
    except Exception:
        # A hint may name something that only a type checker imports.
        return {}


def is_model(kind: Any) -> bool:
    """True for a model of Pydantic, or the class of one."""
    return hasattr(kind, "model_json_schema") and hasattr(kind, "model_validate")


def is_named_tuple(kind: Any) -> bool:
    """True for the class of a named tuple."""
    is_tuple = isinstance(kind, type) and issubclass(kind, tuple)
    return is_tuple and hasattr(cast(Any, kind), "_field_defaults")


def _as_hinted(value: Any, hint: Any, depth: int) -> Any:
    if depth > DEPTH_MAX:
        return value
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Annotated, typing.Required, typing.NotRequired):
        return _as_hinted(value, parts[0], depth + 1)
    if origin in (Union, types.UnionType):
        fits = [part for part in parts if _is_like(value, part)]
        return _as_hinted(value, fits[0], depth + 1) if fits else value
    if isinstance(value, list) and origin in LISTS and parts:
        given = cast("list[Any]", value)
        is_fixed = origin is tuple and not (len(parts) == 2 and parts[1] is ...)
        of_each = [*parts, *[Any] * len(given)] if is_fixed else [parts[0]] * len(given)
        made = [_as_hinted(one, part, depth + 1) for one, part in zip(given, of_each, strict=False)]
        container: Any = origin
        return container(made) if origin in (tuple, set, frozenset) else made
    if isinstance(value, dict) and origin in MAPS and len(parts) == 2:
        members = cast("dict[str, Any]", value)
        return {name: _as_hinted(one, parts[1], depth + 1) for name, one in members.items()}
    if not isinstance(hint, type) or origin is not None:
        return cast(Any, value)
    return _as_class(value, hint, depth)


def _as_class(value: Any, hint: Any, depth: int) -> Any:
    if issubclass(hint, enum.Enum):
        return hint(value)
    if isinstance(value, dict) and is_model(hint):
        return hint.model_validate(value)
    if isinstance(value, dict) and dataclasses.is_dataclass(cast(object, hint)):
        hints = hints_of(hint)
        members = cast("dict[str, Any]", value)
        return hint(**{
            name: _as_hinted(one, hints.get(name, Any), depth + 1) for name, one in members.items()
        })
    if isinstance(value, list) and is_named_tuple(hint):
        hints, items = hints_of(hint), cast("list[Any]", value)
        named = zip(items, [*cast("tuple[str, ...]", getattr(hint, "_fields")), *[""] * len(items)], strict=False)
        return hint(*(_as_hinted(one, hints.get(name, Any), depth + 1) for one, name in named))
    if hint in _FORMATS and isinstance(value, str):
        return hint.fromisoformat(value)
    return cast(Any, value)


def _is_like(value: Any, hint: Any) -> bool:
    """True if a value of JSON could be one of this type."""
    if hint is None or hint is type(None):
        return value is None
    origin = typing.get_origin(hint)
    if isinstance(value, dict):
        is_object = isinstance(hint, type) and (
            dataclasses.is_dataclass(cast(object, hint))
            or is_model(hint)
            or typing.is_typeddict(cast(object, hint))
        )
        return is_object or origin in MAPS or hint in MAPS
    if isinstance(value, list):
        return origin in LISTS or hint in LISTS or is_named_tuple(hint)
    if isinstance(hint, type) and origin is None:
        if issubclass(hint, enum.Enum):
            return any(value == member.value for member in hint)
        return isinstance(value, hint) or (hint in _FORMATS and isinstance(value, str))
    return False
