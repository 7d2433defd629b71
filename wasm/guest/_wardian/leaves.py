"""Values that become one text, one number or null when a program returns them."""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import ipaddress
import math
import pathlib
import re
import sys
import uuid
from collections.abc import Callable
from typing import Any

from _wardian import result

Converted = tuple[Any, "str | None", str]
"""The plain value, the name of the original type and that of the form. No name: nothing to note."""

Leaf = Callable[[Any], Converted]

ISO = "ISO 8601 text"
SECONDS = "number of seconds"

_isfinite = math.isfinite
_modules = sys.modules


def text(source: str, target: str, make: Callable[[Any], str]) -> Leaf:
    """Makes a text of a value."""
    return lambda value: (str.__str__(make(value)), source, target)


def missing(source: str) -> Leaf:
    """Stands for a value that is not there."""
    return lambda value: (None, source, "null")


def finite(value: Any) -> Converted:
    """A float: JSON has neither NaN nor infinity."""
    exact = float.__float__(value)
    if _isfinite(exact):
        return exact, None, ""
    return None, "NaN" if exact != exact else "Infinity" if exact > 0 else "-Infinity", "null"


def complex_number(value: Any) -> Converted:
    """A complex number has two parts."""
    number = complex.__complex__(value)
    if not (_isfinite(number.real) and _isfinite(number.imag)):
        return None, "complex", "null"
    return {"real": number.real, "imag": number.imag}, "complex", "object"


def seconds(value: Any) -> Converted:
    """A duration of the standard library."""
    return datetime.timedelta.total_seconds(value), "datetime.timedelta", SECONDS


def decimal_number(value: Any) -> Converted:
    """A decimal number, if a double has the same digits; always with up to 15 digits."""
    source = "decimal.Decimal"
    if not decimal.Decimal.is_finite(value):
        return None, source, "null"
    words = decimal.Decimal.__str__(value)
    number = float(words)
    if _isfinite(number) and decimal.Decimal(repr(number)) == decimal.Decimal(words):
        return number, source, "number"
    return words, source, "text"


def ratio(above: int, below: int, source: str) -> Converted:
    """A fraction, if a double is exactly as large."""
    if below == 1 and above.bit_length() < 1024:
        return above, source, "number"
    try:
        number = above / below
        if fractions.Fraction(number) == fractions.Fraction(above, below):
            return number, source, "number"
    except OverflowError:
        pass
    return f"{above}/{below}", source, "text"


def fraction(value: Any) -> Converted:
    """A fraction of the standard library."""
    kind: Any = fractions.Fraction
    return ratio(kind.numerator.fget(value), kind.denominator.fget(value), "fractions.Fraction")


def pattern(value: Any) -> Converted:
    """A regular expression, as its pattern."""
    source = value.pattern
    words = source if isinstance(source, str) else bytes(source).decode(errors="backslashreplace")
    return str.__str__(words), "re.Pattern", "text"


def _hidden_bytes(value: Any) -> str:
    return "**********" if value.get_secret_value() else ""


_ADDRESSES = (
    ipaddress.IPv4Address,
    ipaddress.IPv6Address,
    ipaddress.IPv4Network,
    ipaddress.IPv6Network,
    ipaddress.IPv4Interface,
    ipaddress.IPv6Interface,
)

LEAVES: dict[int, Leaf] = {
    id(str): lambda value: (str.__str__(value), None, ""),
    id(float): finite,
    id(complex): complex_number,
    id(datetime.datetime): text("datetime.datetime", ISO, datetime.datetime.isoformat),
    id(datetime.date): text("datetime.date", ISO, datetime.date.isoformat),
    id(datetime.time): text("datetime.time", ISO, datetime.time.isoformat),
    id(datetime.timedelta): seconds,
    id(decimal.Decimal): decimal_number,
    id(fractions.Fraction): fraction,
    id(uuid.UUID): text("uuid.UUID", "text", uuid.UUID.__str__),
    id(pathlib.PurePath): text("pathlib.Path", "text", pathlib.PurePath.__str__),
    id(re.Pattern): pattern,
    id(collections.UserString): text("collections.UserString", "text", lambda value: value.data),
    **{id(kind): text(f"ipaddress.{kind.__name__}", "text", kind.__str__) for kind in _ADDRESSES},
}
"""What becomes of values of the standard library, by the identity of their classes."""

_LATER: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("zoneinfo", "ZoneInfo", str),
    ("pydantic_core", "Url", str),
    ("pydantic_core", "MultiHostUrl", str),
    ("pydantic.networks", "_BaseUrl", str),
    ("pydantic.networks", "_BaseMultiHostUrl", str),
    ("pydantic.networks", "NameEmail", str),
    ("pydantic.types", "SecretBytes", _hidden_bytes),
    ("pydantic.types", "_SecretBase", str),
)
"""Classes of modules that a program may have loaded, and the text that `model_dump(mode="json")` makes of them."""


def register(leaves: dict[int, Leaf]) -> None:
    """Adds the classes of the modules that the program has loaded."""
    for module, name, make in _LATER:
        kind = getattr(_modules.get(module), name, None)
        if isinstance(kind, type):
            leaves[id(kind)] = _named_text(make)


def _named_text(make: Callable[[Any], str]) -> Leaf:
    return lambda value: (str.__str__(make(value)), result.full_name(type(value)), "text")
