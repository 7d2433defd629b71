"""Encodes a value as JSON text, or names the part that cannot be JSON.

Most values are encoded by the C encoder in one pass. Only if that fails, the value is walked in
Python: parts with an exact counterpart are converted (numpy's scalars, also as keys), and for
others the error names the place and a remedy. `conversion` converts more, for results of runs.

The walk calls no method of the user's classes: subclasses of `dict`, `list` and the other plain
types are read through the methods of these types.
"""

from __future__ import annotations

import json
import math
import sys
import types
from collections.abc import Iterator
from typing import Any

from _wardian.door import RETURNED
from _wardian.place import Item, Place, Unfit

MAX_DEPTH = 200
"""Deepest nesting of a value that the walk accepts; the C encoder stops at the stack's end."""

MAX_TEXT = 32 << 20
"""Most bytes of a returned value that the host takes."""

_SCALARS = (str, int, float, bool, type(None))


def returned(value: object) -> bytes:
    """Returns the frame that reports `value` as the program's result.

    Raises:
        TypeError: A part of the value has no JSON counterpart.
    """
    return to_bytes([RETURNED, *_chunks(value, "output")])


def to_json(value: object, name: str) -> bytes:
    """Returns `value` as JSON text in UTF-8; errors refer to it as `name`.

    Raises:
        TypeError: A part of the value has no JSON counterpart.
    """
    return to_bytes(_chunks(value, name))


def encoded(value: object, name: str) -> tuple[str, ...] | None:
    """Returns the JSON text of plain data, in pieces; None for a value that is something else.

    Raises:
        TypeError: An object has two keys that are one in JSON.
    """
    try:
        chunks: tuple[str, ...] = _encode(value, 0)
    except (TypeError, ValueError, RecursionError, OverflowError, AttributeError):
        return None
    finally:
        _markers.clear()
    if _may_have_twins(value):
        _plain(value, Place(name))
    return chunks


def encode_exactly(plain: object) -> tuple[str, ...]:
    """Returns the JSON text of a value of exact plain types, in pieces."""
    chunks: tuple[str, ...] = _encode_exactly(plain, 0)
    return chunks


def _chunks(value: object, name: str) -> tuple[str, ...]:
    chunks = encoded(value, name)
    return encode_exactly(_plain(value, Place(name))) if chunks is None else chunks


def _may_have_twins(value: object) -> bool:
    """True if an object in `value` has keys that are not all text: `1` and `"1"` are one in JSON.

    The value was encoded already, so it is finite.
    """
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if not _TEXT >= set(map(type, dict.keys(part))):
                return True
            items: Any = dict.values(part)
        elif isinstance(part, (list, tuple)):
            items = part
        else:
            continue
        if not _LEAVES >= set(map(type, items)):
            pending.extend(item for item in items if type(item) not in _LEAVES)
    return False


_TEXT = frozenset((str,))
_LEAVES = frozenset(_SCALARS)


def to_bytes(chunks: list[str] | tuple[str, ...]) -> bytes:
    """Joins pieces of JSON text and encodes them."""
    text = "".join(chunks)
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Pairs of surrogates become one character; single ones are replaced.
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return whole.encode()


def _scalar_of_numpy(value: Any) -> Any:
    """Called by the C encoder for other types: converts numpy's scalars to Python's."""
    if hasattr(type(value), "dtype") and (generic := _numpy_generic()) is not None:
        if isinstance(value, generic):
            scalar = generic.item(value)
            if type(scalar) in _SCALARS:
                return scalar
    raise TypeError


_numpy_scalar: Any = None


def _numpy_generic() -> Any:
    """`numpy.generic` if the program has imported numpy, which is not imported here."""
    global _numpy_scalar
    if _numpy_scalar is None:
        numpy = _modules.get("numpy")
        found = getattr(numpy, "generic", None)
        _numpy_scalar = found if isinstance(found, type) else None
    return _numpy_scalar


class _Key(Place):
    """The value of a key."""

    __slots__ = ()

    def in_python(self) -> str:
        return _key_text(self.step)


def _key_text(key: object) -> str:
    if isinstance(key, str):
        return _quote(str.__str__(key))
    if isinstance(key, int) and type(key) is not bool:
        return int.__str__(key)
    return str(key) if type(key) in _SCALARS else described(key)


def _plain(value: Any, place: Place, above: tuple[int, ...] = ()) -> Any:
    """Returns a copy of `value` of exact plain types, or raises an error about a part."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return _whole(value, place)
    if isinstance(value, float):
        return _finite(value, place)
    if isinstance(value, (dict, list, tuple)):
        if id(value) in above:
            raise Unfit(f"{place} contains itself, which JSON cannot express")
        if len(above) >= MAX_DEPTH:
            raise Unfit(f"{place} is nested more than {MAX_DEPTH} levels deep")
        above = (*above, id(value))
        if isinstance(value, dict):
            return _plain_object(value, place, above)
        return [_plain(item, Item(i, place), above) for i, item in enumerate(_items(value))]
    try:
        scalar = _scalar_of_numpy(value)
    except TypeError:
        raise Unfit(explain(value, place)) from None
    return _plain(scalar, place)


def _plain_object(value: dict[Any, Any], place: Place, above: tuple[int, ...]) -> dict[Any, Any]:
    plain = {}
    seen: dict[str, Any] = {}
    for key, item in dict.items(value):
        plain_key = _plain_key(key, place)
        shown = shown_key(plain_key)
        if shown in seen:
            raise Unfit(twins(place, seen[shown], key))
        seen[shown] = key
        plain[plain_key] = _plain(item, _Key(plain_key, place), above)
    return plain


def twins(place: Place, key: object, other: object) -> str:
    """Says that an object has two keys that are one in JSON."""
    return (
        f"{place} has the keys {_quoted(key)} and {_quoted(other)}, which are the "
        f"same in JSON; use keys of one type, such as str(key)"
    )


def shown_key(key: Any) -> str:
    """The JSON text of a key of an exact plain type."""
    if type(key) is str:
        return key
    if key is None or type(key) is bool:
        return {None: "null", True: "true", False: "false"}[key]
    return float.__repr__(key) if type(key) is float else int.__repr__(key)


def _quoted(key: object) -> str:
    return _quote(str.__str__(key)) if isinstance(key, str) else _key_text(key)


def _plain_key(key: Any, place: Place) -> Any:
    """Keys that are whole numbers, floats, booleans or None become strings, as in `json`."""
    if isinstance(key, _SCALARS):
        return _plain(key, place)
    try:
        return _plain(_scalar_of_numpy(key), place)
    except TypeError:
        pass
    raise Unfit(f"{place} has a key that is {described(key)}; keys must be strings, use str(key)")


def _items(value: list[Any] | tuple[Any, ...]) -> Iterator[Any]:
    return list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)


def _whole(value: int, place: Place) -> int:
    exact = int.__int__(value)
    try:
        int.__repr__(exact)
    except ValueError:
        raise Unfit(f"{place} is an int with too many digits; use str or a float") from None
    return exact


def _finite(value: float, place: Place) -> float:
    exact = float.__float__(value)
    if math.isfinite(exact):
        return exact
    name = "NaN" if exact != exact else "Infinity" if exact > 0 else "-Infinity"
    raise Unfit(f"{place} is {name}, which JSON cannot express; use None instead")


_HINTS = {
    "builtins.generator": "use list(...)",
    "builtins.map": "use list(...)",
    "builtins.filter": "use list(...)",
    "builtins.zip": "use list(...)",
    "builtins.range": "use list(...)",
    "builtins.enumerate": "use list(...)",
    "builtins.reversed": "use list(...)",
    "builtins.dict_keys": "use list(...)",
    "builtins.dict_values": "use list(...)",
    "builtins.dict_items": "use dict(...) or list(...)",
    "builtins.set": "use sorted(...) or list(...)",
    "builtins.frozenset": "use sorted(...) or list(...)",
    "builtins.bytes": "use .decode(), or runtime.blobs.write_bytes(...) and return the blob's id",
    "builtins.bytearray": "use .decode(), or runtime.blobs.write_bytes(...) and return the id",
    "builtins.memoryview": "use bytes(...), then .decode() or runtime.blobs.write_bytes(...)",
    "builtins.complex": "return its .real and .imag",
    "builtins.function": "call it and return what it gives",
    "builtins.method": "call it and return what it gives",
    "builtins.builtin_function_or_method": "call it and return what it gives",
    "builtins.coroutine": "await it",
    "builtins.async_generator": "use [item async for item in ...]",
    "builtins.mappingproxy": "use dict(...)",
    "collections.deque": "use list(...)",
    "datetime.datetime": "use .isoformat()",
    "datetime.date": "use .isoformat()",
    "datetime.time": "use .isoformat()",
    "datetime.timedelta": "use .total_seconds()",
    "decimal.Decimal": "use str(...) or float(...)",
    "fractions.Fraction": "use str(...) or float(...)",
    "uuid.UUID": "use str(...)",
    "re.Match": "use .group()",
    "itertools.groupby": "use {key: list(group) for key, group in ...}",
    "pandas.api.typing.DataFrameGroupBy": "aggregate it, such as .sum() or .mean()",
    "pandas.api.typing.SeriesGroupBy": "aggregate it, such as .sum() or .mean()",
    "scipy.sparse._base._spbase": "use .toarray()",
    "networkx.classes.graph.Graph": "use networkx.node_link_data(...)",
    "_io.BytesIO": "use .getvalue()",
    "_io.StringIO": "use .getvalue()",
    "numpy.ndarray": "use .tolist()",
    "numpy.datetime64": "use str(...)",
    "numpy.dtype": "use str(...)",
    "numpy.timedelta64": "use str(...)",
    "pandas.DataFrame": 'use .to_dict("records"), or write it to a blob and return the id',
    "pandas.Series": "use .tolist() or .to_dict()",
    "pandas.Index": "use .tolist()",
    "pandas.Timestamp": "use .isoformat()",
    "pandas.Timedelta": "use .total_seconds()",
    "pandas.Period": "use str(...)",
    "pandas.Interval": "use str(...)",
    "pandas.NaT": "use None",
    "pandas.NA": "use None",
}
"""Advice for values of types that JSON lacks, by the type's full name."""

_PANDAS_NAMES = {
    "NAType": "pandas.NA",
    "NaTType": "pandas.NaT",
    "Timestamp": "pandas.Timestamp",
    "Timedelta": "pandas.Timedelta",
    "Period": "pandas.Period",
    "Interval": "pandas.Interval",
    "DataFrame": "pandas.DataFrame",
    "Series": "pandas.Series",
    "Index": "pandas.Index",
}
"""Public names of classes that pandas defines in inner modules."""


def explain(value: object, place: Place) -> str:
    """Says that JSON cannot hold a value, and what to do."""
    hint = _hint(value)
    advice = f"; {hint}" if hint else ""
    return f"{place} is {described(value)}, which JSON cannot hold{advice}"


def _hint(value: object) -> str | None:
    for kind in _ancestors(type(value)):
        hint = _HINTS.get(full_name(kind))
        if hint is not None:
            return hint
        if "__dataclass_fields__" in _own_names(kind):
            return "use dataclasses.asdict(...)"
        if full_name(kind) == "enum.Enum":
            return "use its .value"
        if full_name(kind) == "pathlib.PurePath" or kind is BaseException:
            return "use str(...)"
    if isinstance(value, type):
        return "return an instance or its name"
    if isinstance(value, types.ModuleType):
        return None
    return "return a dict, list, str, int, float, bool or None"


def described(value: object) -> str:
    """Describes a value, such as `a generator` or `an acme.Customer`, without its methods."""
    if isinstance(value, type):
        return f"the class {_class_name(value)}"
    kind = type(value)
    name = full_name(kind)
    module, _, short = name.rpartition(".")
    if module in ("builtins", "__main__", "main"):
        return f"{'an' if short[:1].lower() in 'aeiou' else 'a'} {short}"
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def full_name(kind: type) -> str:
    """The name of a class with its module, for those of pandas the public one."""
    name = _class_name(kind)
    module = _module_of(kind)
    if not isinstance(module, str):
        return name
    if module.startswith("pandas") and name in _PANDAS_NAMES:
        return _PANDAS_NAMES[name]
    if module.startswith("pathlib"):
        module = "pathlib"
    return f"{module}.{name}"


# Read through `type` itself, so that a hostile metaclass has no effect.
_class_name = type.__dict__["__name__"].__get__
_module_of = type.__dict__["__module__"].__get__
_ancestors = type.__dict__["__mro__"].__get__
_own_names = type.__dict__["__dict__"].__get__

_quote = json.encoder.encode_basestring
_modules = sys.modules
_markers: dict[int, object] = {}  # containers that the C encoder is inside of


def _c_encoder(default: Any, markers: dict[int, object] | None) -> Any:
    """The C encoder itself: `json.dumps` builds one per call, and users can replace it."""
    encoder: Any = json.encoder
    return encoder.c_make_encoder(markers, default, _quote, None, ":", ",", False, False, False)


_encode = _c_encoder(_scalar_of_numpy, _markers)
_encode_exactly = _c_encoder(_scalar_of_numpy, None)
