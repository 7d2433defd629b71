"""Changes modules of scipy, scikit-learn and pandas that take an integer for a position.

Compiled code of these packages has `intp` where a program has numbers: degrees of polynomials,
values of pictures, sizes of grids. On 64-bit Linux both are the same type. Here `intp` has 32 bits,
so such numbers are narrowed where they fit, and refused or computed in another way where not.
"""

from __future__ import annotations

import functools
import sys
from typing import Any


def amend_special(module: Any) -> None:
    """Degrees and counts are integers, and the only loops for integers take `intp`.

    Without them, integers would be taken for real numbers, for which these functions are computed
    in another way, with wrong results for large degrees.
    """
    np = sys.modules["numpy"]
    for name, function in list(vars(module).items()):
        if isinstance(function, np.ufunc):
            kinds = [types.partition("->")[0] for types in function.types]
            places = frozenset(at for kind in kinds for at in range(len(kind)) if kind[at] == "l")
            if places:
                setattr(module, name, _IntegerPlaces(function, places))


class _IntegerPlaces:
    """A universal function that takes int64 where it has loops for `intp`.

    A number that does not fit raises `OverflowError`.
    """

    __slots__ = ("_function", "_places")

    def __init__(self, function: Any, places: frozenset[int]) -> None:
        self._function, self._places = function, places

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._function(*self._narrowed(args), **named)

    def outer(self, *args: Any, **named: Any) -> Any:
        """Applies the function to all pairs."""
        return self._function.outer(*self._narrowed(args), **named)

    def _narrowed(self, args: tuple[Any, ...]) -> list[Any]:
        np = sys.modules["numpy"]
        narrowed = list(args)
        for place in self._places:
            if place < len(args):
                given = np.asarray(args[place])
                if given.dtype == np.int64:
                    narrowed[place] = given.astype(np.intp)
        return narrowed

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        return type(self._function)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __repr__(self) -> str:
        return repr(self._function)

    def __reduce__(self) -> Any:
        return self._function.__reduce__()


_LARGEST_POSITION = (1 << 31) - 1

_MOST_VALUES = 1 << 29
"""Values between the least and the largest one for which `value_indices` has memory here."""


def amend_measurements(module: Any) -> None:
    """`value_indices` computes with values as if they were positions."""
    np = sys.modules["numpy"]
    value_indices = module.value_indices

    @functools.wraps(value_indices)
    def of_any_values(arr: Any, *, ignore_value: Any = None) -> Any:
        if not isinstance(arr, np.ndarray) or arr.dtype.kind not in "iu" or not arr.size:
            return value_indices(arr, ignore_value=ignore_value)
        least, largest = int(arr.min()), int(arr.max())
        if largest - least >= _MOST_VALUES:
            raise MemoryError("Couldn't allocate hist")
        if -_LARGEST_POSITION <= least and largest <= _LARGEST_POSITION:
            return value_indices(arr, ignore_value=ignore_value)
        moved = (arr - arr.dtype.type(least)).astype(np.int64)
        ignored = None if ignore_value is None else int(ignore_value) - least
        if ignored is not None and not 0 <= ignored < _MOST_VALUES:
            ignored = None
        found = value_indices(moved, ignore_value=ignored)
        kind = arr.dtype.type
        return {kind(int(key) + least): places for key, places in found.items()}

    module.value_indices = of_any_values


def amend_to_numeric(module: Any) -> None:
    """`to_numeric` tries one type of integers after another; `intp` is the one before int64."""
    downcast = module.maybe_downcast_numeric

    @functools.wraps(downcast)
    def without_positions(values: Any, dtype: Any) -> Any:
        return values if dtype.char in "lL" else downcast(values, dtype)

    module.maybe_downcast_numeric = without_positions


def amend_search(module: Any) -> None:
    """A grid may have more points than `len` and compiled code can count here."""
    grid = module.ParameterGrid
    np = sys.modules["numpy"]
    sample_without_replacement = module.sample_without_replacement

    @functools.wraps(sample_without_replacement)
    def of_any_size(
        n_population: int, n_samples: int, method: str = "auto", random_state: Any = None
    ) -> Any:
        if n_population <= _LARGEST_POSITION:
            return sample_without_replacement(n_population, n_samples, method, random_state)
        # What the compiled function does where samples are few: it draws again what it had.
        draw = sys.modules["sklearn.utils"].check_random_state(random_state).randint
        drawn: dict[int, None] = {}
        while len(drawn) < n_samples:
            drawn[int(draw(n_population))] = None
        return np.array(list(drawn), dtype=np.int64)

    module.sample_without_replacement = of_any_size

    def length(of: Any) -> int:
        return of.__len__() if isinstance(of, grid) else len(of)

    module.len = length
