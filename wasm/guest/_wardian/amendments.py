"""Changes library modules that assume that a position (`intp`) is the default integer.

`wasm/patches` makes NumPy's default integer int64 while `intp` stays 32 bits wide. A few modules
of the library, written in Python, assume that both are the same type. The library has byte code
only, so their source cannot be patched. Each module is amended right after it was loaded instead:
those of NumPy and pandas while the base image is built, the others when a program imports them.

NumPy is loaded before its parts and its users, so amendments take it from `sys.modules`.

An amendment accesses the names that it replaces. If one is missing, importing the module fails, so
a new library cannot lose an amendment silently.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from _wardian import counting, errors, floating, import_hooks, library, progress, science


def _type_aliases(module: Any) -> None:
    """`np.int_`, `"int"` are int64; `np.int32` is C `int`, since C `long` is `intp`."""
    kinds = module.allTypes
    for name, same_as in (("int_", "int64"), ("uint", "uint64")):
        kinds[name] = module.sctypeDict[name] = kinds[same_as]
    module.sctypeDict["int"] = kinds["int64"]
    for name, character in (("int32", "i"), ("uint32", "I")):
        kinds[name] = module.sctypeDict[name] = module.dtype(character).type


def _multiarray(module: Any) -> None:
    """`count_nonzero` returns int64, because programs calculate with it."""
    count_nonzero = module.count_nonzero

    def count(a: Any) -> Any:
        return module.dtype("q").type(count_nonzero(a))

    module.count_nonzero = count


_LARGEST_OBJECT = (1 << 31) - 1


def _struct(module: Any) -> None:
    """Native `l` and `L` have eight bytes, as on 64-bit Linux."""
    plain = module.Struct

    class Struct(plain):  # type: ignore[misc]
        __slots__ = ()
        __doc__ = plain.__doc__

        # A subclass may have an `__init__` of its own, whose arguments `__new__` gets too.
        def __new__(cls, *args: Any, **named: Any) -> Any:
            return plain.__new__(cls, *_wide_arguments(args, named), **named)

        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*_wide_arguments(args, named), **named)

    Struct.__module__ = "struct"
    Struct.__qualname__ = "Struct"
    module.Struct = Struct
    for name in ("calcsize", "iter_unpack", "pack", "pack_into", "unpack", "unpack_from"):
        setattr(module, name, _with_wide_format(getattr(module, name)))


def _wide_arguments(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Widens the format, which is the first argument or named."""
    if "format" in named:
        named["format"] = _wide_format(named["format"])
    return (_wide_format(args[0]), *args[1:]) if args else args


def _with_wide_format(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(format: Any, /, *args: Any, **named: Any) -> Any:
        return function(_wide_format(format), *args, **named)

    return called


def _wide_format(format: Any) -> Any:
    """Returns the format with `q` and `Q` where a native one says `l` and `L`."""
    if type(format) is bytes:
        text = format.decode("latin-1")
    elif type(format) is str:
        text = format
    else:
        return format
    if "l" not in text and "L" not in text or text[:1] in ("<", ">", "=", "!"):
        return format
    return text.translate(_WIDE_LETTERS)


_WIDE_LETTERS = {ord("l"): "q", ord("L"): "Q"}


def _csv(module: Any) -> None:
    """`csv.field_size_limit(sys.maxsize)` is the usual way to lift the limit."""
    field_size_limit = module.field_size_limit
    beyond: int | None = None

    @functools.wraps(field_size_limit)
    def clamped(*limit: Any) -> Any:
        nonlocal beyond
        if not limit or type(limit[0]) is not int or limit[0] > _MAXSIZE:
            last = field_size_limit(*limit)
            return last if beyond is None else beyond
        last = field_size_limit(min(limit[0], _LARGEST_OBJECT), *limit[1:])
        last = last if beyond is None else beyond
        beyond = limit[0] if limit[0] > _LARGEST_OBJECT else None
        return last

    module.field_size_limit = clamped


def _ctypes(module: Any) -> None:
    """Sizes are C `long`, with 64 bits, as on 64-bit Linux."""
    module.c_size_t, module.c_ssize_t, module.c_time_t = module.c_ulong, module.c_long, module.c_long
    for name, value in (("_name", "<uninitialized>"), ("_handle", 0)):
        if not hasattr(module.CDLL, name):  # mocks copy the attributes of the class
            setattr(module.CDLL, name, value)


def _functools(module: Any) -> None:
    """`lru_cache(maxsize=sys.maxsize)` is a cache that forgets nothing."""
    lru_cache = module.lru_cache

    @functools.wraps(lru_cache)
    def clamped(maxsize: Any = 128, typed: bool = False) -> Any:
        if type(maxsize) is not int or not _LARGEST_OBJECT < maxsize <= _MAXSIZE:
            return lru_cache(maxsize, typed)

        def decorate(function: Callable[..., Any]) -> Any:
            cached: Any = lru_cache(_LARGEST_OBJECT, typed)(function)
            cache_info = cached.cache_info
            cached.cache_info = lambda: cache_info()._replace(maxsize=maxsize)
            cached.cache_parameters = lambda: {"maxsize": maxsize, "typed": typed}
            return cached

        return decorate

    module.lru_cache = clamped


def _strptime(module: Any) -> None:
    """Parsing calls `tzset` again, which must not refuse a zone other than UTC here."""

    class Time:
        def __getattr__(self, name: str) -> Any:
            return getattr(time, name)

        def tzset(self) -> None:
            """Leaves local time as it is."""

    module.time = Time()


def _histograms(module: Any) -> None:
    """`histogram` returns counts as `np.dtype(np.intp)`, its only use of that type."""
    module.np = _WideCounts(module.np)


class _WideCounts:
    """NumPy, except that the type of counts is int64."""

    def __init__(self, numpy: Any) -> None:
        self._numpy = numpy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._numpy, name)

    def dtype(self, kind: Any) -> Any:
        numpy = self._numpy
        return numpy.dtype(numpy.int64 if kind is numpy.intp else kind)


def _grouper(module: Any) -> None:
    """Groups of nothing have an index of positions, the only use of `np.intp`."""
    module.np = _WidePositions(module.np)


class _WidePositions(_WideCounts):
    """NumPy, except that the type of positions is int64."""

    @property
    def intp(self) -> Any:
        return self._numpy.int64


def _numeric(module: Any) -> None:
    """`cross` multiplies into an array of the promoted type."""
    cross = module.cross

    @functools.wraps(cross)
    def wide(a: Any, b: Any, *args: Any, **named: Any) -> Any:
        return cross(_widened(module.dtype, a), _widened(module.dtype, b), *args, **named)

    module.cross = wide


def _widened(dtype: Any, value: Any) -> Any:
    is_position = getattr(getattr(value, "dtype", None), "char", "") == "l"
    return value.astype(dtype("q")) if is_position else value


def _einsum(module: Any) -> None:
    """`einsum` of positions gives int64, as `dot` does."""
    c_einsum = module.c_einsum
    np = sys.modules["numpy"]

    def wide(*args: Any, **named: Any) -> Any:
        if "dtype" not in named and "out" not in named:
            arrays = [one for one in args if isinstance(one, (np.ndarray, np.generic))]
            if arrays and np.result_type(*arrays).char == "l":
                named["dtype"] = np.int64
        return c_einsum(*args, **named)

    module.c_einsum = wide


def _managers(module: Any) -> None:
    """The maps of blocks stay `intp`: `np.append(map, 0)` is int64."""
    np = sys.modules["numpy"]

    manager = module.BlockManager
    insert = manager._insert_update_blklocs_and_blknos

    @functools.wraps(insert)
    def insert_positions(self: Any, loc: int) -> None:
        insert(self, loc)
        for name in ("_blklocs", "_blknos"):
            positions = getattr(self, name)
            if positions.dtype != np.intp:
                setattr(self, name, positions.astype(np.intp))

    manager._insert_update_blklocs_and_blknos = insert_positions


def _peak_finding(module: Any) -> None:
    """Peaks are positions; they are cast safely, which int64 is not."""
    np = sys.modules["numpy"]

    check = module._arg_peaks_as_expected

    @functools.wraps(check)
    def as_positions(value: Any) -> Any:
        value = np.asarray(value)
        return check(value.astype(np.intp) if value.dtype == np.int64 else value)

    module._arg_peaks_as_expected = as_positions

    widths = module._peak_widths

    @functools.wraps(widths)
    def widths_of_positions(*args: Any) -> Any:
        return widths(*(
            one.astype(np.intp) if isinstance(one, np.ndarray) and one.dtype == np.int64 else one
            for one in args
        ))  # fmt: skip

    module._peak_widths = widths_of_positions


def _sparse(module: Any) -> None:
    """Sparse matrices calculate in C types: data of positions counts as int64."""
    np = sys.modules["numpy"]

    upcast = module.upcast

    @functools.wraps(upcast)
    def wide(*args: Any) -> Any:
        return upcast(*(np.int64 if np.dtype(one).char == "l" else one for one in args))

    module.upcast = wide

    getdata = module.getdata

    @functools.wraps(getdata)
    def wide_data(*args: Any, **named: Any) -> Any:
        data = getdata(*args, **named)
        return data.astype(np.int64) if data.dtype.char == "l" else data

    module.getdata = wide_data


def _construction(module: Any) -> None:
    """Series and columns made of positions have the default integer, which they are natively.

    All constructors of pandas, and assignments of columns, pass through this function.
    """
    sanitize_array = module.sanitize_array

    @functools.wraps(sanitize_array)
    def wide(*args: Any, **named: Any) -> Any:
        return _without_positions(sanitize_array(*args, **named))

    module.sanitize_array = wide


def _frame_construction(module: Any) -> None:
    """Frames of two-dimensional positions have the default integer."""
    ndarray_to_mgr = module.ndarray_to_mgr

    @functools.wraps(ndarray_to_mgr)
    def wide(values: Any, *args: Any, **named: Any) -> Any:
        return ndarray_to_mgr(_without_positions(values), *args, **named)

    module.ndarray_to_mgr = wide


def _objects(module: Any) -> None:
    """A column of single positions, such as results of `argmax`, has the default integer."""
    maybe_convert_objects = module.maybe_convert_objects
    np = sys.modules["numpy"]

    @functools.wraps(maybe_convert_objects)
    def wide(objects: Any, *args: Any, **named: Any) -> Any:
        found = maybe_convert_objects(objects, *args, **named)
        is_narrow = type(found) is np.ndarray and found.dtype.char == "i"
        if is_narrow and np.intp in set(map(type, objects.ravel())):
            return found.astype(np.int64)
        return found

    module.maybe_convert_objects = wide


def _without_positions(values: Any) -> Any:
    np = sys.modules["numpy"]
    is_array = type(values) is np.ndarray and values.dtype.char == "l"
    return values.astype(np.int64) if is_array else values


def _string_types(module: Any) -> None:
    """The default text type is shown as natively, where pyarrow stores it."""
    kind = module.StringDtype
    plain = kind.__repr__

    def shown(self: Any) -> str:
        return plain(self).replace("storage='python', na_value=nan", "na_value=nan")

    kind.__repr__ = shown


def _optional_packages(module: Any) -> None:
    """The advice to install a missing package is followed by what works instead."""
    import_optional_dependency = module.import_optional_dependency

    @functools.wraps(import_optional_dependency)
    def advised(*args: Any, **named: Any) -> Any:
        try:
            return import_optional_dependency(*args, **named)
        except ImportError as error:
            cause = error.__cause__
            if isinstance(cause, ImportError):
                raise ImportError(f"{error} Nothing can be installed here: {cause}") from cause
            raise

    module.import_optional_dependency = advised


AMENDMENTS: dict[str, Callable[[Any], None]] = {
    "_strptime": _strptime,
    "bisect": library.amend_bisect,
    "csv": _csv,
    "ctypes": _ctypes,
    "decimal": library.amend_decimal,
    "errno": errors.renumber,
    "functools": _functools,
    "getpass": library.amend_getpass,
    "itertools": library.amend_itertools,
    "numpy._core._type_aliases": _type_aliases,
    "numpy._core.einsumfunc": _einsum,
    "numpy._core._ufunc_config": floating.amend_ufunc_config,
    "numpy._core.multiarray": _multiarray,
    "numpy._core.numeric": _numeric,
    "numpy.lib._histograms_impl": _histograms,
    "numpy.random._generator": counting.amend_generator,
    "numpy.random.mtrand": counting.amend_random_state,
    "pandas._libs.algos": counting.amend_algos,
    "pandas._libs.join": counting.amend_join,
    "pandas._libs.lib": _objects,
    "pandas.compat._optional": _optional_packages,
    "pandas.core.arrays.string_": _string_types,
    "pandas.core.construction": _construction,
    "pandas.core.groupby.grouper": _grouper,
    "pandas.core.internals.construction": _frame_construction,
    "pandas.core.internals.managers": _managers,
    "pandas.core.tools.numeric": science.amend_to_numeric,
    "platform": library.amend_platform,
    "random": library.amend_random,
    "rich.live": progress.amend_rich_live,
    "rich.progress": progress.amend_rich_progress,
    "scipy.ndimage._measurements": science.amend_measurements,
    "scipy.signal._peak_finding": _peak_finding,
    "scipy.sparse._sputils": _sparse,
    "scipy.spatial._ckdtree": counting.amend_kd_tree_of_scipy,
    "scipy.special._ufuncs": science.amend_special,
    "sklearn.model_selection._search": science.amend_search,
    "sklearn.neighbors._ball_tree": counting.amend_trees_of_sklearn,
    "sklearn.neighbors._kd_tree": counting.amend_trees_of_sklearn,
    "struct": _struct,
    "time": library.amend_time,
    "tqdm.std": progress.amend_tqdm,
}

_MAXSIZE = (1 << 63) - 1


def install() -> None:
    """Amends the loaded modules now, and the others when they are imported."""
    import_hooks.HOOKS.change(AMENDMENTS)


def set_maxsize() -> None:
    """Sets `sys.maxsize` to the value on 64-bit machines, which programs use as infinity.

    This is the last step of an image. The library was imported before, so it has determined the
    width of addresses from the true value. Two modules use the value later and keep the true one:
    one has it as the key of a table, and one computes hashes that must equal those of `frozenset`.
    """
    true_size = SimpleNamespace(**vars(sys))
    for name in ("numpy._core.arrayprint", "_collections_abc"):
        if name in sys.modules:
            sys.modules[name].sys = true_size  # type: ignore[attr-defined]
    sys.maxsize = _MAXSIZE  # type: ignore[misc]
