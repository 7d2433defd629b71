"""NumPy's scalars and arrays as JSON data."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from _wardian.leaves import ISO, SECONDS, Converted, Leaf, complex_number, finite, missing
from _wardian.place import Item, Member, Place, Unfit

if TYPE_CHECKING:
    from _wardian.conversion import Branch, Converter

_modules = sys.modules
_MAX_DIMENSIONS = 60
_FOUND: dict[str, Any] = {}


def register(leaves: dict[int, Leaf], branches: dict[int, Branch]) -> None:
    """Adds the classes of NumPy if the program has imported it, which is not imported here."""
    numpy: Any = _modules.get("numpy")
    array, scalar = getattr(numpy, "ndarray", None), getattr(numpy, "generic", None)
    if not (isinstance(array, type) and isinstance(scalar, type)):
        return
    _FOUND["numpy"] = numpy
    leaves[id(scalar)] = _scalar
    branches[id(array)] = _array
    record = getattr(numpy, "void", None)
    if isinstance(record, type):
        branches[id(record)] = _record
    masked: Any = getattr(_modules.get("numpy.ma"), "MaskedArray", None)
    if isinstance(masked, type):
        branches[id(masked)] = _masked
        leaves[id(type(_modules["numpy.ma"].masked))] = missing("numpy.ma.masked")


def _scalar(value: Any) -> Converted:
    numpy = _FOUND["numpy"]
    kind = numpy.generic.dtype.__get__(value).kind
    if kind == "M":
        return _moment(str(numpy.datetime_as_string(value)))
    if kind == "m":
        number = _in_seconds(value)
        return number, "numpy.timedelta64", "null" if number is None else SECONDS
    plain = numpy.generic.item(value)
    if kind in "biu":
        return plain, None, ""
    if kind == "f":
        return finite(float(plain))
    if kind == "c":
        return complex_number(complex(plain))
    raise TypeError(f"a scalar of the kind {kind}")


def _moment(words: str) -> Converted:
    source = "numpy.datetime64"
    return (None, source, "null") if words == "NaT" else (_short(words), source, ISO)


def _short(words: str) -> str:
    """A moment without the zeros of a finer unit than it needs."""
    return words.rstrip("0").rstrip(".") if "." in words else words


def _in_seconds(value: Any) -> Any:
    """The seconds of a duration; None for none."""
    numpy = _FOUND["numpy"]
    number = float(value / numpy.timedelta64(1, "s"))
    return number if number == number else None


def _record(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    """A record of a structured array, or bytes without a meaning."""
    names = value.dtype.names
    if names is None:
        return work.plain(value.tobytes(), place, above)
    above = work.entered(value, place, above)
    work.notes.add(place, "numpy.void", "object")
    return work.members([(name, value[name]) for name in names], place, above)


def _array(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    numpy = _FOUND["numpy"]
    array = numpy.ndarray.view(value, numpy.ndarray)
    if array.ndim + len(above) > _MAX_DIMENSIONS:
        raise Unfit(f"{place} is an array with too many dimensions")
    above = work.entered(value, place, above)
    target = "list" if array.ndim else "its value"
    work.notes.add(place, "numpy.ndarray", target)
    return _parts(work, array, place, above)


def _masked(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    numpy = _FOUND["numpy"]
    array = numpy.ndarray.view(value, numpy.ndarray)
    above = work.entered(value, place, above)
    work.notes.add(place, "numpy.ma.MaskedArray", "list" if array.ndim else "its value")
    mask = numpy.ma.getmaskarray(value)
    if array.dtype.names is not None:
        return work.plain(numpy.ma.MaskedArray.tolist(value), place, above)
    filled = array.astype(object)
    filled[mask] = None
    hidden = int(mask.sum())
    if hidden:
        first: Place = place
        for at in numpy.argwhere(mask)[0].tolist():
            first = Item(at, first)
        work.notes.add(first, "numpy.ma.masked", "null", hidden)
    if array.dtype.kind == "f" or array.dtype.kind in "Mm":
        kept = numpy.where(mask, array.dtype.type(0), array).astype(array.dtype)
        return _overlaid(_parts(work, kept, place, above), mask.tolist())
    return _parts(work, filled, place, above)


def _overlaid(parts: Any, mask: Any) -> Any:
    if mask is True:
        return None
    if mask is False:
        return parts
    return [_overlaid(part, hidden) for part, hidden in zip(parts, mask, strict=True)]


def _parts(work: Converter, array: Any, place: Place, above: tuple[int, ...]) -> Any:
    """The nested lists of an array, quickly where its kind tells that they are plain data."""
    numpy = _FOUND["numpy"]
    kind = array.dtype.kind
    if kind in "biuU":
        return array.tolist()
    if kind == "f" and array.dtype.itemsize <= 8 and bool(numpy.isfinite(array).all()):
        return array.tolist()
    if kind == "V" and array.dtype.names is not None and array.ndim == 1:
        return _records(work, array, place, above)
    if array.ndim == 0:
        return work.plain(array[()], place, above)
    if array.ndim > 1:
        return [_parts(work, row, Item(at, place), above) for at, row in enumerate(array)]
    return work.items(list(array) if kind in "MmV" or kind == "f" else array.tolist(), place, above)


def _records(work: Converter, array: Any, place: Place, above: tuple[int, ...]) -> Any:
    """A structured array, field by field."""
    columns = []
    for name in array.dtype.names:
        field = array[name]
        if field.ndim == 1 and field.dtype.kind != "V":
            where = name

            def place_of(at: int, where: str = where) -> Place:
                return Member(where, Item(at, place))

            kind = field.dtype.kind
            values = list(field) if kind in "Mmf" else field.tolist()
            columns.append(work.cells(values, place_of, above))
        else:
            columns.append(
                [
                    _parts(work, row, Member(name, Item(at, place)), above)
                    if getattr(row, "ndim", 0)
                    else work.plain(row, Member(name, Item(at, place)), above)
                    for at, row in enumerate(field)
                ]
            )
    names = array.dtype.names
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
