"""Turns the returned value of a program into what JSON can hold, and notes each conversion.

A value that is plain JSON data already is encoded as it is. Others are walked: a date becomes text,
a table a list of records, and so on; docs/protocol.md has the table. Notes tell the caller which
parts were converted, so that nothing is silent. What Python's own `json` would write as well (a
tuple, a number as a key, a subclass of `str`) and the numbers of NumPy are not worth a note.

Plain types and those of the standard library are read through the methods of these types, so a
subclass that overrides them is not asked. Code of the program runs where the value itself is code:
in generators, properties of dataclasses, `model_dump` and time zones. It may fail, or take as long
as the limits of the run allow, like the rest of the program.
"""

from __future__ import annotations

import array
import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import itertools
import math
import types
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from _wardian import arrays, charts, door, figures, leaves, result, tables
from _wardian.leaves import LEAVES, Leaf
from _wardian.place import Item, Member, Place, Unfit

MAX_DEPTH = 64
"""Deepest nesting of a returned value: the host refuses deeper ones."""

MAX_COMPUTED = 1_000_000
"""Most items of a generator or another value that computes its items."""

MAX_BASE64 = 1_024
"""Most bytes that become a text; more become a blob."""

MAX_NOTES = 20
"""Most different conversions that are listed."""

Branch = Callable[["Converter", Any, Place, "tuple[int, ...]"], Any]
"""Converts a value with parts."""

_isfinite = math.isfinite
_class_name = type.__dict__["__name__"].__get__
_ancestors = type.__dict__["__mro__"].__get__
_own_names = type.__dict__["__dict__"].__get__
_attribute = object.__getattribute__


def returned(value: object, is_strict: bool) -> bytes:
    """Returns the frame that reports `value` as the program's result.

    Raises:
        TypeError: A part of the value has no JSON counterpart.
    """
    if is_strict:
        return result.returned(value)
    chunks = result.encoded(value, "output")
    if chunks is not None:
        return result.to_bytes([door.RETURNED, *chunks])
    return _report(Converter(), value)


def shown(value: object, is_strict: bool) -> bytes:
    """Returns the frame for the value of a last expression. What has no JSON form becomes its `repr`.

    Raises:
        TypeError: A part of the value has no JSON counterpart, and `is_strict`.
    """
    try:
        return returned(value, is_strict)
    except Unfit:
        if is_strict:
            raise
        return _report(_ShowingConverter(), value)


def _report(converter: Converter, value: object) -> bytes:
    plain = converter.plain(value, Place("output"))
    report = result.to_bytes(result.encode_exactly(plain))
    if not converter.notes.total:
        return door.RETURNED.encode() + report
    notes = converter.notes.text()
    return b"".join((door.CONVERTED, len(notes).to_bytes(4, "little"), notes, report))


class Notes:
    """The conversions of a value. Equal ones in the items of a list are counted together."""

    __slots__ = ("entries", "total")

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str, str], list[Any]] = {}
        self.total = 0

    def add(self, place: Place, source: str, target: str, count: int = 1) -> None:
        """Notes that the part at `place` and `count - 1` similar ones were converted."""
        self.total += count
        key = (place.pattern(), source, target)
        entry = self.entries.get(key)
        if entry is not None:
            entry[1] += count
        elif len(self.entries) < MAX_NOTES:
            self.entries[key] = [place.path(), count]

    def forget(self, place: Place) -> None:
        """Drops the notes on the parts of the value at `place`."""
        beginning = place.path()
        for key, (path, count) in list(self.entries.items()):
            if path.startswith(beginning):
                self.total -= count
                del self.entries[key]

    def text(self) -> bytes:
        """The notes as JSON for the host."""
        listed = [
            {"path": path, "from": source[:100], "to": target[:100], "count": count}
            for (_, source, target), (path, count) in self.entries.items()
        ]
        return result.to_json({"listed": listed, "total": self.total}, "notes")


class Converter:
    """One walk through a value."""

    def __init__(self) -> None:
        self.notes = Notes()
        self._leaves = dict(LEAVES)
        leaves.register(self._leaves)
        found: dict[int, Branch] = {}
        for register in (arrays.register, tables.register, figures.register, charts.register):
            register(self._leaves, found)
        self._branches = _BRANCHES | {name: _guarded(branch) for name, branch in found.items()}
        self._known: dict[int, tuple[type, Leaf | None, Branch | None]] = {}

    def plain(self, value: Any, place: Place, above: tuple[int, ...] = ()) -> Any:
        """Returns a copy of `value` of exact plain types.

        Raises:
            Unfit: A part of it has no JSON counterpart.
        """
        kind = type(value)
        if kind is str or value is None or kind is bool:
            return value
        if kind is int:
            return _whole(value, place)
        if kind is dict:
            return self.members(dict.items(value), place, self.entered(value, place, above))
        if kind is list or kind is tuple:
            return self.items(value, place, self.entered(value, place, above))
        leaf, branch = self._ways(kind)
        if leaf is not None:
            try:
                plain, source, target = leaf(value)
            except (MemoryError, Unfit):
                raise
            except Exception as error:
                raise _failed(value, place, error) from error
            if source is not None:
                self.notes.add(place, source, target)
            return plain
        if branch is not None:
            return branch(self, value, place, above)
        raise Unfit(result.explain(value, place))

    def _ways(self, kind: type) -> tuple[Leaf | None, Branch | None]:
        """How values of a class are converted: as a whole, or by their parts."""
        known = self._known.get(id(kind))
        if known is None:
            known = (kind, *self._find_ways(kind))
            self._known[id(kind)] = known
        return known[1], known[2]

    def _find_ways(self, kind: type) -> tuple[Leaf | None, Branch | None]:
        ancestors = _ancestors(kind)
        for ancestor in ancestors:
            leaf = self._leaves.get(id(ancestor))
            branch = self._branches.get(id(ancestor))
            if leaf is not None or branch is not None:
                return leaf, branch
        for ancestor in ancestors:
            own = _own_names(ancestor)
            for name, found in _MARKS:
                if name in own and not issubclass(kind, type):
                    return None, found
        return None, None

    def entered(self, value: object, place: Place, above: tuple[int, ...]) -> tuple[int, ...]:
        """The way from the root down to `value`, which is about to be walked."""
        if id(value) in above:
            raise Unfit(f"{place} contains itself, which JSON cannot express")
        if len(above) >= MAX_DEPTH:
            raise Unfit(f"{place} is nested more than {MAX_DEPTH} levels deep")
        return (*above, id(value))

    def items(self, values: Any, place: Place, above: tuple[int, ...]) -> list[Any]:
        """Converts the items of a list."""
        return self.cells(values, lambda at: Item(at, place), above)

    def cells(
        self, values: Iterable[Any], place_of: Callable[[int], Place], above: tuple[int, ...]
    ) -> list[Any]:
        """Converts values that are alike, such as those of a column, and notes them together."""
        plain: list[Any] = []
        add = plain.append
        source: str | None
        counts: dict[tuple[str, str], list[int]] = {}
        for at, value in enumerate(values):
            kind = type(value)
            if kind is str or value is None or kind is bool:
                add(value)
                continue
            if kind is float and _isfinite(value):
                add(value)
                continue
            if kind is int and value.bit_length() < 64:
                add(value)
                continue
            leaf, _ = self._ways(kind) if id(kind) not in _PLAIN else (None, None)
            made = None
            if leaf is not None:
                try:
                    made = leaf(value)
                except MemoryError:
                    raise
                except Exception:
                    pass  # the walk says which part it was
            if made is None:
                add(self.plain(value, place_of(at), above))
                continue
            shown, source, target = made
            add(shown)
            if source is not None:
                counted = counts.setdefault((source, target), [at, 0])
                counted[1] += 1
        for (source, target), (first, number) in counts.items():
            self.notes.add(place_of(first), source, target, number)
        return plain

    def members(
        self, pairs: Iterable[tuple[Any, Any]], place: Place, above: tuple[int, ...]
    ) -> dict[str, Any]:
        """Converts the members of an object."""
        plain: dict[str, Any] = {}
        before: dict[str, Any] = {}
        for key, value in pairs:
            name = key if type(key) is str else self.key(key, place)
            if name in plain:
                raise Unfit(result.twins(place, before.get(name, name), key))
            if name is not key:
                before[name] = key
            kind = type(value)
            if kind is not str and value is not None and kind is not bool:
                value = self.plain(value, Member(name, place), above)
            plain[name] = value
        return plain

    def key(self, key: Any, place: Place) -> str:
        """Returns the name of a member for a key of a dict at `place`."""
        kind = type(key)
        if issubclass(kind, str):
            return str.__str__(key)
        if key is None or kind is bool or issubclass(kind, int):
            return result.shown_key(key if key is None or kind is bool else _whole(key, place))
        if kind is float and _isfinite(key):
            return float.__repr__(key)
        if issubclass(kind, tuple):
            parts = tuple.__iter__(key)
            shown = (repr(part) if type(part) is str else self.key(part, place) for part in parts)
            self.notes.add(place, "tuple (key)", "text")
            return f"({', '.join(shown)})"
        leaf, branch = self._ways(kind)
        if leaf is not None:
            try:
                plain, source, target = leaf(key)
            except (MemoryError, Unfit):
                raise
            except Exception as error:
                raise _failed(key, place, error) from error
            if plain is None and source in ("NaN", "Infinity", "-Infinity"):
                plain = source
            if source is not None:
                self.notes.add(place, f"{source} (key)", "text" if plain is None else target)
            return plain if type(plain) is str else result.shown_key(plain)
        if branch is _enum_value:
            plain = self.plain(_attribute(key, "_value_"), place, (id(key),))
            if type(plain) in _KEYS:
                self.notes.add(place, f"{result.full_name(kind)} (key)", "its value")
                return plain if type(plain) is str else result.shown_key(plain)
        raise Unfit(
            f"{place} has a key that is {result.described(key)}; keys must be strings, use str(key)"
        )


class _ShowingConverter(Converter):
    """Converts parts that have no JSON form to the text that a Python prompt shows."""

    def plain(self, value: Any, place: Place, above: tuple[int, ...] = ()) -> Any:
        """Returns a copy of `value` of exact plain types."""
        try:
            return super().plain(value, place, above)
        except Unfit:
            self.notes.forget(place)
        name = result.full_name(type(value))
        try:
            text = str.__str__(repr(value))
        except MemoryError:
            raise
        except Exception as error:
            text = f"<{name} whose repr failed: {_words(error)}>"
        self.notes.add(place, name, "text (repr)")
        return text


# Classes are told by their identity: their hash could be a method of the program's own.
_PLAIN = frozenset(map(id, (str, int, bool, type(None), dict, list, tuple)))
_KEYS = frozenset((str, int, float, bool, type(None)))


def _guarded(branch: Branch) -> Branch:
    """A branch whose package may fail, on values of its own that nobody has thought of."""

    def guarded(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
        try:
            return branch(work, value, place, above)
        except (MemoryError, Unfit):
            raise
        except Exception as error:
            raise _failed(value, place, error) from error

    return guarded


def _failed(value: object, place: Place, error: Exception) -> Unfit:
    return Unfit(f"{place} is {result.described(value)} that cannot be converted ({_words(error)})")


def _words(error: Exception) -> str:
    """What an exception says of itself."""
    name = _class_name(type(error))
    try:
        text = str(error)[:200]
    except Exception:
        text = ""
    return f"{name}: {text}" if text else name


def _whole(value: int, place: Place) -> int:
    exact = int.__int__(value)
    if exact.bit_length() > 64:
        try:
            int.__repr__(exact)
        except ValueError:
            raise Unfit(f"{place} is an int with too many digits; use str or a float") from None
    return exact


# Values with parts.


def _whole_number(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    return _whole(value, place)


def _dict(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    return work.members(dict.items(value), place, work.entered(value, place, above))


def _list(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    return work.items(list.__iter__(value), place, work.entered(value, place, above))


def _tuple(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    return work.items(tuple.__iter__(value), place, work.entered(value, place, above))


def _set(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    above = work.entered(value, place, above)
    source = "set" if issubclass(type(value), set) else "frozenset"
    kind: Any = set if source == "set" else frozenset
    members = list(kind.__iter__(value))
    kinds = {id(type(member)) for member in members}
    target = "sorted list"
    try:
        if kinds <= _NUMBERS or (len(kinds) == 1 and kinds <= _SORTABLE):
            members.sort()
        else:
            target = "list"
    except (TypeError, ArithmeticError):  # moments with and without a zone, a signalling NaN
        target = "list"
    plain = work.cells(members, lambda _: Item("*", place), above)
    if target == "list":
        # The order of a set follows from hashes, and may be another one in each run.
        plain.sort(key=lambda part: "".join(result.encode_exactly(part)))
    work.notes.add(place, source, target)
    return plain


_SORTABLE = frozenset(
    map(
        id,
        (
            str,
            bytes,
            datetime.date,
            datetime.datetime,
            datetime.time,
            datetime.timedelta,
            decimal.Decimal,
            fractions.Fraction,
            uuid.UUID,
        ),
    )
)
_NUMBERS = frozenset(map(id, (int, float, bool)))


def _array(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    work.notes.add(place, "array.array", "list")
    return work.items(array.array.tolist(value), place, work.entered(value, place, above))


def _deque(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    above = work.entered(value, place, above)
    work.notes.add(place, "collections.deque", "list")
    return work.items(collections.deque.__iter__(value), place, above)


def _computed(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    """The items of a generator and its like. What the program raises in it, ends the run."""
    above = work.entered(value, place, above)
    taken = list(itertools.islice(iter(value), MAX_COMPUTED + 1))
    if len(taken) > MAX_COMPUTED:
        raise Unfit(
            f"{place} is {result.described(value)} with more than {MAX_COMPUTED:,} items; "
            "return fewer, or write them to a file"
        )
    work.notes.add(place, result.full_name(type(value)).removeprefix("builtins."), "list")
    return work.items(taken, place, above)


def _mapping(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    above = work.entered(value, place, above)
    work.notes.add(place, result.full_name(type(value)).removeprefix("builtins."), "object")
    return work.members(list(dict(value).items()), place, above)


def _user_dict(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    above = work.entered(value, place, above)
    work.notes.add(place, "collections.UserDict", "object")
    return work.members(dict(_attribute(value, "data")).items(), place, above)


def _user_list(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    above = work.entered(value, place, above)
    work.notes.add(place, "collections.UserList", "list")
    return work.items(list(_attribute(value, "data")), place, above)


def _named_space(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    above = work.entered(value, place, above)
    work.notes.add(place, "types.SimpleNamespace", "object")
    return work.members(list(_attribute(value, "__dict__").items()), place, above)


def _enum_value(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    above = work.entered(value, place, above)
    work.notes.add(place, _own_name(type(value)), "its value")
    return work.plain(_attribute(value, "_value_"), place, above)


def _fields(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    """The fields of a dataclass, or of a class that attrs has made."""
    above = work.entered(value, place, above)
    names: list[str] = []
    for ancestor in _ancestors(type(value)):
        own = _own_names(ancestor)
        if type(fields := own.get("__dataclass_fields__")) is dict:
            names = [
                name
                for name, field in fields.items()
                if type(field) is dataclasses.Field and field._field_type is dataclasses._FIELD  # type: ignore[attr-defined]
            ]
            break
        if issubclass(type(fields := own.get("__attrs_attrs__")), tuple):
            names = [str(field.name) for field in fields]
            break
    try:
        pairs = [(name, _attribute(value, name)) for name in names]
    except MemoryError:
        raise
    except Exception as error:
        raise _failed(value, place, error) from error
    work.notes.add(place, _own_name(type(value)), "object")
    return work.members(pairs, place, above)


def _model(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    """A model that can tell its own content, such as those of pydantic."""
    above = work.entered(value, place, above)
    try:
        content = type(value).model_dump(value)
    except MemoryError:
        raise
    except Exception as error:
        raise _failed(value, place, error) from error
    work.notes.add(place, _own_name(type(value)), "object")
    return work.plain(content, place, above)


def _own_name(kind: type) -> str:
    """The name of a class of the program, without the module that the program itself is."""
    name = result.full_name(kind)
    module, _, short = name.rpartition(".")
    return short if module in ("__main__", "main", "builtins") else name


_MARKS: tuple[tuple[str, Branch], ...] = (
    ("model_dump", _model),
    ("__dataclass_fields__", _fields),
    ("__attrs_attrs__", _fields),
)
"""Names in a class that tell how its values are converted."""


def _bytes(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    data = bytes(memoryview(value))
    source = result.full_name(type(value)).removeprefix("builtins.")
    if len(data) <= MAX_BASE64:
        work.notes.add(place, source, "base64 text")
        return base64.b64encode(data).decode()
    kind = next((kind for start, kind in _STARTS if data.startswith(start)), _ANY_KIND)
    name = kind.encode()
    request = (door.WRITE_BLOB, len(name).to_bytes(2, "little"), name, data)
    blob_id: str = door.ask_json(b"".join(request))["id"]
    work.notes.add(place, source, f"id of a blob of kind {kind}")
    return blob_id


_ANY_KIND = "application/octet-stream"
_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
)
"""The kinds of files that are told by their first bytes."""


_BRANCHES: dict[int, Branch] = {
    id(kind): branch
    for kind, branch in (
        (int, _whole_number),
        (dict, _dict),
        (list, _list),
        (tuple, _tuple),
        (set, _set),
        (frozenset, _set),
        (array.array, _array),
        (collections.deque, _deque),
        (bytes, _bytes),
        (bytearray, _bytes),
        (memoryview, _bytes),
        (enum.Enum, _enum_value),
        (collections.ChainMap, _mapping),
        (types.MappingProxyType, _mapping),
        (collections.UserDict, _user_dict),
        (collections.UserList, _user_list),
        (types.SimpleNamespace, _named_space),
        *(
            (kind, _computed)
            for kind in (
                range,
                map,
                filter,
                zip,
                enumerate,
                reversed,
                types.GeneratorType,
                type({}.keys()),
                type({}.values()),
                type({}.items()),
                type(reversed([])),
                *(
                    kind
                    for name, kind in vars(itertools).items()
                    # Its groups are gone once the next one is asked for.
                    if type(kind) is type and name not in ("groupby", "_grouper")
                ),
            )
        ),
    )
}
