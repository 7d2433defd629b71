"""Signatures and documentation of tools, made of the JSON Schemas that their caller has declared.

A schema comes from strangers. What cannot be expressed in Python is `Any`, and its size and depth are
bounded: the gateway checks arguments, and nothing here decides what is valid.
"""

from __future__ import annotations

import functools
import inspect
import keyword
import operator
from collections.abc import Iterator
from inspect import Parameter
from typing import Any, Literal

DEPTH_MAX = 8
"""Most levels of a schema that annotations show."""

CHOICES_MAX = 20
"""Most values of an enumeration that annotations show."""

LINES_MAX = 200
"""Most lines of documentation that are made of one schema."""

NOTE_MAX = 500
"""Most characters that are shown of the description of an argument."""

_TYPES: dict[str, Any] = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "null": type(None),
    "number": float,
    "object": dict,
    "string": str,
}
_SCALARS = (str, int, bool, type(None))
_EMPTY = Parameter.empty


class Arguments:
    """The arguments of a tool, as its schema describes them."""

    def __init__(self, schema: Any) -> None:
        self._root = schema if isinstance(schema, dict) else {}
        top = _resolved(self._root, self._root)
        properties = top.get("properties")
        self._properties: dict[str, Any] = properties if isinstance(properties, dict) else {}
        self._required = _names(top.get("required"))
        self._takes_others = _takes_others(top, self._properties)
        self.signature = self._signature()

    def of(self, unnamed: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call by their names, with the defaults of the schema. `None` for an
        argument that can be left out and cannot be null leaves it out.

        Raises:
            TypeError: They do not fit the signature.
        """
        given: dict[str, Any] = {}
        if unnamed and all(
            one.kind is Parameter.VAR_KEYWORD for one in self.signature.parameters.values()
        ):
            raise TypeError("the arguments have names: name=value")
        for name, value in self.signature.bind(*unnamed, **named).arguments.items():
            if self.signature.parameters[name].kind is Parameter.VAR_KEYWORD:
                given.update(value)
            else:
                given[name] = value
        for name, schema in self._properties.items():
            if given.get(name, _EMPTY) is None and not self._may_be_none(name, schema):
                del given[name]
            default = _default(schema)
            if name not in given and default is not _EMPTY and default is not None:
                given[name] = default
        return given

    def _may_be_none(self, name: str, schema: Any) -> bool:
        return name in self._required or _allows_null(schema, self._root, 0)

    def _signature(self) -> inspect.Signature:
        """Required arguments come first, in the order of the schema. Those whose names are no names in
        Python have no parameter of their own."""
        parameters = []
        for name in sorted(self._properties, key=lambda name: name not in self._required):
            if not name.isidentifier() or keyword.iskeyword(name):
                continue
            schema = self._properties[name]
            default = _EMPTY if name in self._required else _default(schema)
            kind = annotation(schema, self._root)
            if default is _EMPTY and name not in self._required:
                default, kind = None, _union([kind, type(None)])
            if name in self._required:
                default = _EMPTY
            parameters.append(
                Parameter(
                    name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind
                )
            )
        if self._takes_others or len(parameters) < len(self._properties):
            free = next(
                name
                for name in ("arguments", "others", "_arguments", "_others")
                if name not in self._properties or name == "_others"
            )
            parameters.append(Parameter(free, Parameter.VAR_KEYWORD, annotation=Any))
        return inspect.Signature(parameters)

    def lines(self) -> list[str]:
        """What is said of each argument."""
        return _lines_of(self._properties, self._required, self._root)


def returned(schema: Any) -> Any:
    """The annotation of what a tool returns."""
    return annotation(schema, schema) if isinstance(schema, dict) else _EMPTY


def lines_of_output(schema: Any) -> list[str]:
    """What is said of the members of an output."""
    if not isinstance(schema, dict):
        return []
    top = _resolved(schema, schema)
    items = top.get("items")
    if isinstance(items, dict) and not isinstance(top.get("properties"), dict):
        top = _resolved(items, schema)
    properties = top.get("properties")
    return _lines_of(properties, None, schema) if isinstance(properties, dict) else []


def annotation(schema: Any, root: Any, depth: int = 0) -> Any:
    """The type that a schema describes, as an annotation."""
    if not isinstance(schema, dict) or depth > DEPTH_MAX:
        return Any
    schema = _resolved(schema, root)
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(choices, list) and choices:
        return _choice(choices)
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            few = schema[word][: CHOICES_MAX + 1]
            return _union([annotation(one, root, depth + 1) for one in few])
    every = schema.get("allOf")
    if isinstance(every, list) and len(every) == 1 and "type" not in schema:
        return annotation(every[0], root, depth + 1)
    named = schema.get("type")
    if isinstance(named, list):
        return _union([_of_type(one, schema, root, depth) for one in named[: len(_TYPES)]])
    return _of_type(named, schema, root, depth)


def _of_type(name: Any, schema: dict[str, Any], root: Any, depth: int) -> Any:
    kind = _TYPES.get(name, Any) if isinstance(name, str) else Any
    items, more = schema.get("items"), schema.get("additionalProperties")
    if kind is list and isinstance(items, dict):
        of_items = annotation(items, root, depth + 1)
        return list if of_items is Any else list[of_items]  # type: ignore[valid-type]
    if kind is dict and isinstance(more, dict) and not schema.get("properties"):
        return dict[str, annotation(more, root, depth + 1)]  # type: ignore[misc]
    return kind


def _choice(choices: list[Any]) -> Any:
    if len(choices) <= CHOICES_MAX and all(type(one) in _SCALARS for one in choices):
        return Literal[tuple(choices)]
    kinds = {type(one): None for one in choices}
    return _union([*kinds]) if all(kind in _SCALARS for kind in kinds) else Any


def _union(kinds: list[Any]) -> Any:
    if not kinds or Any in kinds:
        return Any
    nothing = type(None)
    unique = [kind for at, kind in enumerate(kinds) if kind not in kinds[:at]]
    unique.sort(key=lambda kind: kind is nothing)
    try:
        return functools.reduce(operator.or_, unique)
    except TypeError:
        return Any


def _resolved(schema: dict[str, Any], root: Any) -> dict[str, Any]:
    """The schema that a reference within the same document means."""
    for _ in range(DEPTH_MAX):
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            break
        if not reference.startswith("#"):
            return {}
        found: Any = root
        for part in reference[1:].split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            found = found.get(part) if isinstance(found, dict) else None
        if not isinstance(found, dict):
            return {}
        schema = {**found, **{name: one for name, one in schema.items() if name != "$ref"}}
    return schema


def _names(required: Any) -> set[str]:
    """The names in a list of required members."""
    found = required if isinstance(required, list) else ()
    return {name for name in found if isinstance(name, str)}


def _takes_others(top: dict[str, Any], properties: dict[str, Any]) -> bool:
    """True if a call may name arguments that the schema does not."""
    others = top.get("additionalProperties")
    if others is not None:
        return others is not False
    return not properties or "patternProperties" in top


def _default(schema: Any) -> Any:
    return schema.get("default", _EMPTY) if isinstance(schema, dict) else _EMPTY


def _allows_null(schema: Any, root: Any, depth: int) -> bool:
    if not isinstance(schema, dict) or depth > DEPTH_MAX:
        return True
    schema = _resolved(schema, root)
    if "const" in schema:
        return schema["const"] is None
    if isinstance(schema.get("enum"), list):
        return None in schema["enum"]
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            return any(_allows_null(one, root, depth + 1) for one in schema[word])
    named = schema.get("type")
    return named is None or named == "null" or (isinstance(named, list) and "null" in named)


def _lines_of(
    properties: dict[str, Any], required: set[str] | None, root: Any
) -> list[str]:
    lines = list(_described(properties, required, root, 1))[: LINES_MAX + 1]
    return lines if len(lines) <= LINES_MAX else [*lines[:LINES_MAX], "    ..."]


def _described(
    properties: dict[str, Any], required: set[str] | None, root: Any, depth: int
) -> Iterator[str]:
    for name, schema in properties.items():
        if not isinstance(schema, dict):
            continue
        schema = _resolved(schema, root)
        kind = shown(annotation(schema, root))
        optional = ", optional" if required is not None and name not in required else ""
        note = schema.get("description")
        note = " ".join(note.split())[:NOTE_MAX] if isinstance(note, str) else ""
        yield f"{'    ' * depth}{name} ({kind}{optional})" + (f": {note}" if note else "")
        inner = _inner(schema, root)
        if depth < 3 and isinstance(inner.get("properties"), dict):
            names = _names(inner.get("required"))
            yield from _described(
                inner["properties"], None if required is None else names, root, depth + 1
            )


def _inner(schema: dict[str, Any], root: Any) -> dict[str, Any]:
    """The object that a value is, or consists of."""
    items = schema.get("items")
    if isinstance(items, dict) and "properties" not in schema:
        return _resolved(items, root)
    return schema


def shown(kind: Any) -> str:
    """The text of an annotation."""
    return "None" if kind is type(None) else inspect.formatannotation(kind)
