"""Replaces compiled functions that count in positions, which have 32 bits here.

Some modules add up counts or products of sizes in C integers as wide as an address. On 64-bit Linux
they cannot overflow. Here they do from 65,536 rows on: the mean rank of equal values and the number
of pairs of neighbours are wrong, and a join of too many rows gets arrays that are too short. The
replacements use another algorithm for numbers that may be too large.

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
        mean = rank("max", pct=False)
        count: Any = 1
        if rest.get("pct"):
            # The quotient of a rank and its percentage is the number of values.
            count = sys.modules["numpy"].round(mean / rank("max", pct=True))
        mean += rank("min", pct=False)
        mean /= 2
        mean /= count
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
    """The number of pairs with equal group numbers, which are below `groups`; -1 is no group."""
    np = sys.modules["numpy"]
    counts = [
        np.bincount(side[side >= 0], minlength=groups).astype(np.int64)
        for side in map(np.asarray, (left, right))
    ]
    return int(np.dot(*counts))


def _matches_of_sorted(left: Any, right: Any, *_: Any) -> int:
    """The number of equal pairs of two sorted arrays."""
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
    """Pairs of neighbours, in `KDTree` or `BallTree` and what they are made from."""
    kind = "KDTree" if module.__name__.endswith("kd_tree") else "BallTree"
    wide = _counting_tree(getattr(module, f"{kind}64"))
    setattr(module, f"{kind}64", wide)
    setattr(module, f"{kind}32", _counting_tree(getattr(module, f"{kind}32")))
    plain = getattr(module, kind)
    members = {"__doc__": plain.__doc__, "__module__": plain.__module__}
    setattr(module, kind, type(kind, (plain, wide), members))


def _counting_tree(plain: Any) -> Any:
    """A tree that counts pairs for as many points at a time as cannot overflow."""
    np = sys.modules["numpy"]

    def two_point_correlation(  # noqa: N803
        self: Any, X: Any, r: Any, dualtree: bool = False
    ) -> Any:
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
            if replace or p is not None or not isinstance(a, (int, np.integer)) or a <= _LARGEST:
                return super().choice(a, size, replace, p, axis, shuffle)
            count = 1 if size is None else math.prod(np.atleast_1d(size).tolist())
            if not 0 <= count <= a // 50:
                raise MemoryError(f"Unable to allocate a permutation of {a:,} numbers")
            found = _choose(self.integers, int(a), count, shuffle)
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
    """Draws like the compiled function: Floyd's algorithm, then a shuffle."""
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


def amend_random_state(module: Any) -> None:
    """The legacy generator draws integers in 32 bits. Large numbers are drawn in another way.

    `Generator` does the same steps with 64 bits for `binomial`, `poisson` and `multinomial`. The
    other distributions are drawn here.
    """
    np = sys.modules["numpy"]
    plain, instance = module.RandomState, module._rand

    class RandomState(plain):  # type: ignore[misc]
        __slots__ = ()
        __doc__ = plain.__doc__
        __module__ = plain.__module__

        def _wide(self) -> Any:
            return sys.modules["numpy.random"].Generator(self._bit_generator)

        @functools.wraps(plain.binomial)
        def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
            if _most(np, n) < _FEW_TRIALS:
                return super().binomial(n, p, size)
            return self._wide().binomial(n, p, size)

        @functools.wraps(plain.multinomial)
        def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
            if _most(np, n) < _FEW_TRIALS:
                return super().multinomial(n, pvals, size)
            return self._wide().multinomial(n, pvals, size)

        @functools.wraps(plain.poisson)
        def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
            if _most(np, lam) < _FEW_TRIALS:
                return super().poisson(lam, size)
            return self._wide().poisson(lam, size)

        @functools.wraps(plain.geometric)
        def geometric(self, p: Any, size: Any = None) -> Any:
            if not (0 < _least(np, p) <= _RARE and np.max(p) < 1 / 3):
                return super().geometric(p, size)
            uniform = self.random_sample(np.shape(p) if size is None else size)
            drawn = np.ceil(np.log1p(-np.asarray(uniform)) / np.log(1 - np.asarray(p)))
            return _whole(np, drawn)

        @functools.wraps(plain.negative_binomial)
        def negative_binomial(self, n: Any, p: Any, size: Any = None) -> Any:
            if not (0 < _least(np, p) <= _RARE * 100 and _least(np, n) > 0):
                return super().negative_binomial(n, p, size)
            draw = self._wide().poisson
            return _each(np, size, (n, p), lambda n, p: draw(self.gamma(n, (1 - p) / p)))

        @functools.wraps(plain.zipf)
        def zipf(self, a: Any, size: Any = None) -> Any:
            if not 1 < _least(np, a) < 3:
                return super().zipf(a, size)
            if size is not None and not np.ndim(a):
                return _draw_many_zipf(np, self.random_sample, float(a), size)
            return _each(np, size, (a,), functools.partial(_draw_zipf, self.random_sample))

        @functools.wraps(plain.tomaxint)
        def tomaxint(self, size: Any = None) -> Any:
            drawn = self._wide().integers(0, _LARGEST_UNSIGNED, size, np.uint64, True)
            return int(drawn) >> 1 if size is None else (drawn >> 1).astype(np.int64)

    RandomState.__qualname__ = "RandomState"
    module.RandomState = RandomState
    module._rand = replaced = RandomState(instance._bit_generator)
    for name, value in list(vars(module).items()):
        if getattr(value, "__self__", None) is instance:
            setattr(module, name, getattr(replaced, name))


_FEW_TRIALS = 1 << 27
"""From this number of trials on, the square of a deviation may not fit into 32 bits."""
_RARE = 1e-7
"""With a rarer event, the number of trials may not fit into 32 bits."""


def _most(np: Any, value: Any) -> Any:
    """The largest value of a parameter, which is an array or, mostly, one number."""
    return value if type(value) in (int, float) else np.max(value, initial=0)


def _least(np: Any, value: Any) -> Any:
    return value if type(value) in (int, float) else np.min(value, initial=9)


def _whole(np: Any, drawn: Any) -> Any:
    """Converts to integers like the compiled functions: an array, or one Python number."""
    drawn = np.minimum(drawn, 2.0**63 - 1024).astype(np.int64)
    return drawn if drawn.ndim else int(drawn)


def _each(np: Any, size: Any, parameters: tuple[Any, ...], draw: Callable[..., int]) -> Any:
    """Draws one number after another, as the compiled functions do."""
    wide = np.broadcast_arrays(*parameters)
    if size is None and not wide[0].ndim:
        return int(draw(*(one.item() for one in wide)))
    shape = wide[0].shape if size is None else np.empty(size, dtype=bool).shape
    values = zip(*(np.broadcast_to(one, shape).ravel().tolist() for one in wide), strict=True)
    drawn = np.array([draw(*row) for row in values], dtype=np.int64)
    return drawn.reshape(shape)


def _draw_zipf(uniform: Callable[[], float], a: float) -> int:
    """Draws by rejection, as Devroye describes it."""
    exponent = a - 1
    scale = 2.0**exponent
    while True:
        u, v = 1.0 - uniform(), uniform()
        x = _floor_of_power(u, -1 / exponent)
        if not 1 <= x <= _LARGEST_WIDE:
            continue
        t = (1 + 1 / x) ** exponent
        if v * x * (t - 1) / (scale - 1) <= t / scale:
            return int(x)


def _draw_many_zipf(np: Any, uniform: Callable[[int], Any], a: float, size: Any) -> Any:
    """Draws many numbers like `_draw_zipf`: all attempts are consecutive in the stream."""
    drawn = np.empty(size, dtype=np.int64)
    exponent = a - 1
    scale = 2.0**exponent
    done = 0
    while done < drawn.size:
        attempts = uniform(2 * (drawn.size - done))
        u, v = 1.0 - attempts[::2], attempts[1::2]
        with np.errstate(all="ignore"):
            x = np.floor(u ** (-1 / exponent))
            t = (1 + 1 / x) ** exponent
            fits = v * x * (t - 1) / (scale - 1) <= t / scale
        x = x[fits & (x >= 1) & (x < _LARGEST_WIDE)]
        drawn.flat[done : done + x.size] = x
        done += x.size
    return drawn


def _floor_of_power(base: float, exponent: float) -> float:
    try:
        return math.floor(base**exponent)
    except (OverflowError, ZeroDivisionError):
        return math.inf


_LARGEST_WIDE, _LARGEST_UNSIGNED = (1 << 63) - 1, (1 << 64) - 1
