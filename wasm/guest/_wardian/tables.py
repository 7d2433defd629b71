"""The values of pandas, and exact numbers of SymPy, as JSON data.

A table becomes a list of records, one for each row, as `DataFrame.to_dict("records")` makes them,
with these differences: an index that is more than row numbers is kept in front of the columns, and
columns that JSON could not tell apart are an error rather than lost.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from _wardian import result
from _wardian.leaves import ISO, SECONDS, Converted, Leaf, finite, missing, ratio, text
from _wardian.place import Item, Member, Place, Unfit

if TYPE_CHECKING:
    from _wardian.conversion import Branch, Converter

_modules = sys.modules
_FOUND: dict[str, Any] = {}


def register(leaves: dict[int, Leaf], branches: dict[int, Branch]) -> None:
    """Adds the classes of the packages that the program has imported."""
    _register_pandas(leaves, branches)
    _register_sympy(leaves, branches)


def is_table(value: object) -> bool:
    """True for a table or a column of pandas."""
    pandas: Any = _modules.get("pandas")
    kinds = (getattr(pandas, "DataFrame", None), getattr(pandas, "Series", None))
    return any(isinstance(kind, type) and issubclass(type(value), kind) for kind in kinds)


def _register_pandas(leaves: dict[int, Leaf], branches: dict[int, Branch]) -> None:
    pandas: Any = _modules.get("pandas")
    if not isinstance(getattr(pandas, "DataFrame", None), type):
        return
    _FOUND["pandas"] = pandas
    try:
        leaves.update(
            {
                id(pandas.Timestamp): text("pandas.Timestamp", ISO, pandas.Timestamp.isoformat),
                id(pandas.Timedelta): _duration,
                id(pandas.Period): text("pandas.Period", "text", pandas.Period.__str__),
                id(pandas.Interval): text("pandas.Interval", "text", pandas.Interval.__str__),
                id(type(pandas.NaT)): missing("pandas.NaT"),
                id(type(pandas.NA)): missing("pandas.NA"),
            }
        )
        branches.update(
            {
                id(pandas.DataFrame): _frame,
                id(pandas.Series): _series,
                id(pandas.Index): _index,
                id(pandas.api.extensions.ExtensionArray): _extension_array,
            }
        )
        styler = _modules.get("pandas.io.formats.style")
        if styler is not None:
            branches[id(styler.Styler)] = _styler
    except AttributeError:
        pass  # a module of the program's own with that name, or one half imported


def _duration(value: Any) -> Converted:
    pandas = _FOUND["pandas"]
    return float(value / pandas.Timedelta(seconds=1)), "pandas.Timedelta", SECONDS


def _frame(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    pandas = _FOUND["pandas"]
    above = work.entered(value, place, above)
    frame = value if type(value) is pandas.DataFrame else pandas.DataFrame(value)
    names = [_column_name(work, name, place) for name in frame.columns.tolist()]
    if len(set(names)) < len(names):
        twin = next(name for at, name in enumerate(names) if name in names[:at])
        raise Unfit(
            f"{place} is a pandas.DataFrame with two columns `{twin[:100]}`, which are one in "
            "JSON; rename one of them"
        )
    levels, target = _levels(work, frame.index, names, place)
    work.notes.add(place, "pandas.DataFrame", target)
    columns = [*levels, *((name, frame.iloc[:, at]) for at, name in enumerate(names))]
    return _rows(work, columns, len(frame), place, above)


def _rows(
    work: Converter,
    columns: list[tuple[str, Any]],
    length: int,
    place: Place,
    above: tuple[int, ...],
) -> list[dict[str, Any]]:
    """The records of columns, which are converted one after another."""
    names = [name for name, _ in columns]
    least = length * sum(len(name) + 4 for name in names)
    if least > result.MAX_TEXT:
        raise Unfit(
            f"{place} is a table of {length:,} rows, which is too large for a result; write it to "
            'a file, such as df.to_parquet("table.parquet"), and return a part or a summary'
        )
    if not columns:
        return [{} for _ in range(length)]
    cells = [work.cells(_values(column), _cell_of(name, place), above) for name, column in columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]


def _cell_of(name: str, place: Place) -> Callable[[int], Place]:
    return lambda at: Member(name, Item(at, place))


def _values(column: Any) -> list[Any]:
    """The values of a series or an index, as Python's or pandas' scalars."""
    values: list[Any] = column.tolist()
    return values


def _column_name(work: Converter, name: Any, place: Place) -> str:
    """The name of a column; those of several levels are joined."""
    if type(name) is tuple:
        parts = (part if type(part) is str else work.key(part, place) for part in name)
        work.notes.add(place, "tuple (column)", "text joined by _")
        return "_".join(part for part in parts if part)
    return name if type(name) is str else work.key(name, place)


def _is_numbering(index: Any) -> bool:
    """True for the index that pandas makes if it is given none: the numbers of the rows."""
    pandas = _FOUND["pandas"]
    return (
        type(index) is pandas.RangeIndex
        and index.start == 0
        and index.step == 1
        and index.name is None
    )


def _levels(
    work: Converter, index: Any, taken: list[str], place: Place
) -> tuple[list[tuple[str, Any]], str]:
    """The columns that an index becomes, and what becomes of its table."""
    if _is_numbering(index):
        return [], "list of records"
    levels: list[tuple[str, Any]] = []
    used = set(taken)
    for at, given in enumerate(index.names):
        if given is None:
            name = "index" if index.nlevels == 1 and "index" not in used else f"level_{at}"
        else:
            name = _column_name(work, given, place)
        while name in used:
            name += "_index"
        used.add(name)
        levels.append((name, index.get_level_values(at)))
    shown = ", ".join(f"`{name[:40]}`" for name, _ in levels)
    return levels, f"list of records, with its index as {shown}"


def _series(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    pandas = _FOUND["pandas"]
    above = work.entered(value, place, above)
    series = value if type(value) is pandas.Series else pandas.Series(value)
    index = series.index
    if _is_numbering(index):
        work.notes.add(place, "pandas.Series", "list")
        return work.items(_values(series), place, above)
    if index.nlevels == 1 and index.is_unique:
        names = [_column_name(work, name, place) for name in index.tolist()]
        if len(set(names)) == len(names):
            work.notes.add(place, "pandas.Series", "object")
            cells = work.cells(_values(series), lambda at: Member(names[at], place), above)
            return dict(zip(names, cells, strict=True))
    own = "value" if series.name is None else _column_name(work, series.name, place)
    levels, target = _levels(work, index, [own], place)
    work.notes.add(place, "pandas.Series", target)
    return _rows(work, [*levels, (own, series)], len(series), place, above)


def _index(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    above = work.entered(value, place, above)
    work.notes.add(place, "pandas.Index", "list")
    return work.items(_values(value), place, above)


def _extension_array(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    above = work.entered(value, place, above)
    work.notes.add(place, result.full_name(type(value)), "list")
    return work.items(list(value), place, above)


def _styler(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    return _frame(work, value.data, place, above)


def _register_sympy(leaves: dict[int, Leaf], branches: dict[int, Branch]) -> None:
    sympy: Any = _modules.get("sympy")
    if not isinstance(getattr(sympy, "Basic", None), type):
        return
    try:
        matrix = _modules["sympy.matrices.matrixbase"].MatrixBase
    except (KeyError, AttributeError):
        matrix = None
    try:
        leaves[id(sympy.Basic)] = text("sympy.Basic", "text", str)
        leaves[id(sympy.Integer)] = lambda value: (int(value), "sympy.Integer", "number")
        leaves[id(sympy.Rational)] = lambda value: ratio(
            int(value.p), int(value.q), "sympy.Rational"
        )
        leaves[id(sympy.Float)] = _sympy_float
        for value in (sympy.true, sympy.false):
            leaves[id(type(value))] = lambda value: (bool(value), "sympy.Boolean", "boolean")
        if isinstance(matrix, type):
            branches[id(matrix)] = _matrix
    except AttributeError:
        pass


def _sympy_float(value: Any) -> Converted:
    plain, source, target = finite(float(value))
    return plain, source or "sympy.Float", target or "number"


def _matrix(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    above = work.entered(value, place, above)
    work.notes.add(place, "sympy.Matrix", "list")
    return work.items(value.tolist(), place, above)
