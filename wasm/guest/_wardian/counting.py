"""Mends compiled functions that count in positions, which have 32 bits here.

Some modules of pandas add up counts or products of sizes in C integers as wide as an address. On
64-bit Linux they cannot overflow. Here they do from 65,536 rows on: the mean rank of equal values
comes out wrong, and a join of too many rows gets arrays that are too short. The functions are
replaced by ones that take another way where the numbers may be too large.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

_LARGEST = (1 << 31) - 1
_MOST_TIES = (1 << 16) - 1
"""Ranks up to this one add up to less than 2**31."""


def amend_algos(module: Any) -> None:
    """Means of ranks: half of the lowest and the highest rank of equal values."""
    module.rank_1d = _mean_rank(module.rank_1d, "values", 3)
    module.rank_2d = _mean_rank(module.rank_2d, "in_arr", 3)
    module.nancorr_spearman = _spearman(module.nancorr_spearman, module)


def _mean_rank(plain: Callable[..., Any], first: str, place: int) -> Callable[..., Any]:
    """Wraps a function that ranks; `ties_method` is its argument number `place`."""

    @functools.wraps(plain)
    def ranked(*args: Any, **named: Any) -> Any:
        values = args[0] if args else named[first]
        method = args[place] if len(args) > place else named.get("ties_method", "average")
        if method != "average" or max(values.shape) <= _MOST_TIES:
            return plain(*args, **named)

        def rank(method: str, **other: Any) -> Any:
            return plain(*args[:place], **{**rest, "ties_method": method, **other})

        rest = dict(zip(_AFTER_METHOD[first], args[place + 1 :], strict=False)) | named
        highest = rank("max", pct=False)
        mean = (rank("min", pct=False) + highest) / 2
        if rest.get("pct"):
            # How many values there are is in the quotient of a rank and its part of one.
            sys.modules["numpy"].round(highest / rank("max", pct=True), out=highest)
            mean /= highest
        return mean

    return ranked


_AFTER_METHOD = {
    "values": ("ascending", "pct", "na_option", "mask"),
    "in_arr": ("ascending", "na_option", "pct"),
}


def _spearman(plain: Callable[..., Any], module: Any) -> Callable[..., Any]:
    """Wraps the correlation of ranks of columns, which ranks in C."""
    np = sys.modules["numpy"]

    @functools.wraps(plain)
    def correlated(mat: Any, minp: int = 1) -> Any:
        count, columns = mat.shape
        if count <= _MOST_TIES:
            return plain(mat, minp)
        valid = np.isfinite(mat)
        result = np.full((columns, columns), np.nan)
        for x in range(columns):
            for y in range(x + 1):
                both = valid[:, x] & valid[:, y]
                if np.count_nonzero(both) >= minp:
                    result[x, y] = result[y, x] = correlation(mat[both, x], mat[both, y])
        return result

    def correlation(x: Any, y: Any) -> float:
        middle = (len(x) + 1) / 2
        x, y = module.rank_1d(x) - middle, module.rank_1d(y) - middle
        divisor = np.sqrt(np.dot(x, x) * np.dot(y, y))
        return np.dot(x, y) / divisor if divisor else np.nan  # type: ignore[no-any-return]

    return correlated


def amend_join(module: Any) -> None:
    """Joins of more rows than an array has are refused before they are counted wrongly."""
    for name in ("inner_join", "left_outer_join", "full_outer_join"):
        setattr(module, name, _countable(getattr(module, name), _matches_of_groups))
    for name in ("left_join_indexer", "inner_join_indexer", "outer_join_indexer"):
        setattr(module, name, _countable(getattr(module, name), _matches_of_sorted))


def _countable(plain: Callable[..., Any], matches: Callable[..., int]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def joined(left: Any, right: Any, *args: Any, **named: Any) -> Any:
        if len(left) * len(right) > _LARGEST:
            rows = matches(left, right, *args)
            if rows + len(left) + len(right) > _LARGEST:
                raise MemoryError(f"Unable to allocate arrays for the {rows:,} rows of this join")
        return plain(left, right, *args, **named)

    return joined


def _matches_of_groups(left: Any, right: Any, groups: int, *_: Any) -> int:
    """How many pairs have the same number, which is below `groups`, and not -1."""
    np = sys.modules["numpy"]
    counts = (np.bincount(side[side >= 0], minlength=groups) for side in map(np.asarray, (left, right)))
    return int(np.dot(*(count.astype(np.int64) for count in counts)))


def _matches_of_sorted(left: Any, right: Any, *_: Any) -> int:
    """How many pairs are equal, in sorted arrays."""
    np = sys.modules["numpy"]
    ends, starts = np.searchsorted(right, left, "right"), np.searchsorted(right, left, "left")
    return int((ends - starts).sum(dtype=np.int64))
