"""Mends compiled functions that count in positions, which have 32 bits here.

Some modules add up counts or products of sizes in C integers as wide as an address. On 64-bit Linux
they cannot overflow. Here they do from 65,536 rows on: the mean rank of equal values and the number
of pairs of neighbours come out wrong, and a join of too many rows gets arrays that are too short.
The functions are replaced by ones that take another way where the numbers may be too large.

`amendments` calls the functions below for modules that were just loaded.
"""

from __future__ import annotations

import functools
import math
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
    counts = [
        np.bincount(side[side >= 0], minlength=groups).astype(np.int64)
        for side in map(np.asarray, (left, right))
    ]
    return int(np.dot(*counts))


def _matches_of_sorted(left: Any, right: Any, *_: Any) -> int:
    """How many pairs are equal, in sorted arrays."""
    np = sys.modules["numpy"]
    ends, starts = np.searchsorted(right, left, "right"), np.searchsorted(right, left, "left")
    return int((ends - starts).sum(dtype=np.int64))


def amend_kd_tree_of_scipy(module: Any) -> None:
    """Pairs of neighbours: sums of weights are floats, so each point weighs one."""
    np = sys.modules["numpy"]
    plain = module.cKDTree

    class cKDTree(plain):  # type: ignore[misc]  # noqa: N801
        __doc__ = plain.__doc__
        __module__ = plain.__module__

        @functools.wraps(plain.count_neighbors)
        def count_neighbors(
            self, other: Any, r: Any, p: float = 2.0, weights: Any = None, cumulative: bool = True
        ) -> Any:
            if weights is not None or self.n * other.n <= _LARGEST:
                return super().count_neighbors(other, r, p, weights, cumulative)
            ones = np.ones(self.n), np.ones(other.n)
            counts = super().count_neighbors(other, r, p, ones, cumulative)
            return np.asarray(counts).astype(np.int64)[()]

    cKDTree.__qualname__ = "cKDTree"
    module.cKDTree = cKDTree


def amend_trees_of_sklearn(module: Any) -> None:
    """Pairs of neighbours: counted for as many points at a time as cannot overflow."""
    kind = "KDTree" if module.__name__.endswith("kd_tree") else "BallTree"
    for name in (kind, f"{kind}32", f"{kind}64"):
        setattr(module, name, _counting_tree(getattr(module, name)))


def _counting_tree(plain: Any) -> Any:
    np = sys.modules["numpy"]

    def two_point_correlation(self: Any, X: Any, r: Any, dualtree: bool = False) -> Any:  # noqa: N803
        step = max(1, _LARGEST // max(1, self.data.shape[0]))
        count = plain.two_point_correlation
        if len(X) <= step:
            return count(self, X, r, dualtree)
        X = np.asarray(X)  # noqa: N806
        parts = (count(self, X[at : at + step], r, dualtree) for at in range(0, len(X), step))
        return sum(part.astype(np.int64) for part in parts)

    functools.update_wrapper(two_point_correlation, plain.two_point_correlation)
    members = {
        "__doc__": plain.__doc__,
        "__module__": plain.__module__,
        "two_point_correlation": two_point_correlation,
    }
    return type(plain.__name__, (plain,), members)


def amend_generator(module: Any) -> None:
    """Choices without replacement: their loop counts up to the size of the population."""
    np = sys.modules["numpy"]
    plain, plain_default_rng = module.Generator, module.default_rng

    class Generator(plain):  # type: ignore[misc]
        __slots__ = ()
        __doc__ = plain.__doc__
        __module__ = plain.__module__

        @functools.wraps(plain.choice)
        def choice(
            self,
            a: Any,
            size: Any = None,
            replace: Any = True,
            p: Any = None,
            axis: int = 0,
            shuffle: bool = True,
        ) -> Any:
            if replace or p is not None or type(a) is not int or a <= _LARGEST:
                return super().choice(a, size, replace, p, axis, shuffle)
            count = 1 if size is None else math.prod(size) if hasattr(size, "__iter__") else int(size)
            if count > a // 50:
                raise MemoryError(f"Unable to allocate a permutation of {a:,} numbers")
            found = _choose(self.integers, a, count, shuffle)
            if size is None:
                return found[0]
            return np.array(found, dtype=np.int64).reshape(size)

    def default_rng(seed: Any = None) -> Any:
        made = plain_default_rng(seed)
        return made if isinstance(made, Generator) else Generator(made.bit_generator)

    Generator.__qualname__ = "Generator"
    module.Generator = Generator
    module.default_rng = functools.wraps(plain_default_rng)(default_rng)


def _choose(integers: Callable[..., Any], population: int, count: int, shuffle: bool) -> list[int]:
    """Draws as the compiled function does: Floyd's way, then a shuffle."""
    found: list[int] = []
    chosen: set[int] = set()
    for last in range(population - count, population):
        number = int(integers(0, last, endpoint=True))
        number = last if number in chosen else number
        chosen.add(number)
        found.append(number)
    if shuffle:
        for here in range(count - 1, 0, -1):
            there = int(integers(0, here, endpoint=True))
            found[here], found[there] = found[there], found[here]
    return found
