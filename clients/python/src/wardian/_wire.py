"""Strict reading of the server's JSON."""

from __future__ import annotations

import json
from typing import Any, TypeAlias, cast

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
JsonObject: TypeAlias = dict[str, "Json"]


class WardianError(Exception):
    """Base of all errors of this package."""

    def __reduce__(self) -> tuple[Any, ...]:
        # The default passes only `args` to the class, but some classes need more than a message.
        return _remade, (type(self), self.args), self.__dict__


class BadAnswer(WardianError):
    """The answer does not follow the protocol: the server at this address is not Wardian."""


def _remade(kind: type[WardianError], args: tuple[Any, ...]) -> WardianError:
    """An error for pickle and copy, which then set its attributes."""
    return kind.__new__(kind, *args)


def parse(text: str | bytes) -> Json:
    """Parses JSON."""
    try:
        return cast(Json, json.loads(text))
    except (ValueError, RecursionError) as fault:
        raise BadAnswer(f"the answer is not JSON: {fault}") from fault


def print_json(value: object) -> bytes:
    """Prints JSON. Values that JSON cannot represent are refused here, not by the server."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False).encode()


def as_object(value: object, place: str) -> JsonObject:
    """The value, which must be an object."""
    if isinstance(value, dict):
        return cast(JsonObject, value)
    raise BadAnswer(f"`{place}` should be an object")


def as_list(value: object, place: str) -> list[Json]:
    """The value, which must be an array."""
    if isinstance(value, list):
        return cast("list[Json]", value)
    raise BadAnswer(f"`{place}` should be an array")


def text(members: JsonObject, name: str) -> str:
    """A member that is a string."""
    value = members.get(name)
    if isinstance(value, str):
        return value
    raise BadAnswer(f"`{name}` should be a string")


def text_or_none(members: JsonObject, name: str) -> str | None:
    """A member that is a string, null or left out."""
    return None if members.get(name) is None else text(members, name)


def integer(members: JsonObject, name: str) -> int:
    """A member that is an integer."""
    value = members.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise BadAnswer(f"`{name}` should be an integer")


def integer_or_none(members: JsonObject, name: str) -> int | None:
    """A member that is an integer, null or left out."""
    return None if members.get(name) is None else integer(members, name)


def number(members: JsonObject, name: str) -> float:
    """A member that is a number."""
    value = members.get(name)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise BadAnswer(f"`{name}` should be a number")


def number_or_none(members: JsonObject, name: str) -> float | None:
    """A member that is a number, null or left out."""
    return None if members.get(name) is None else number(members, name)


def flag(members: JsonObject, name: str) -> bool:
    """A member that is true or false."""
    value = members.get(name)
    if isinstance(value, bool):
        return value
    raise BadAnswer(f"`{name}` should be true or false")


def flag_or_none(members: JsonObject, name: str) -> bool | None:
    """A member that is true, false, null or left out."""
    return None if members.get(name) is None else flag(members, name)


def texts(members: JsonObject, name: str) -> list[str]:
    """A member that is an array of strings; empty if it is left out."""
    found = as_list(members.get(name, []), name)
    if all(isinstance(item, str) for item in found):
        return cast("list[str]", found)
    raise BadAnswer(f"`{name}` should have strings only")


def objects(members: JsonObject, name: str) -> list[JsonObject]:
    """A member that is an array of objects; empty if it is left out."""
    return [as_object(item, name) for item in as_list(members.get(name, []), name)]


def object_or_none(members: JsonObject, name: str) -> JsonObject | None:
    """A member that is an object, null or left out."""
    value = members.get(name)
    return None if value is None else as_object(value, name)


def without_none(**members: Any) -> dict[str, Any]:
    """The members that are not `None`."""
    return {name: value for name, value in members.items() if value is not None}
