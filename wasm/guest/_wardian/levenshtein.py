"""The package `Levenshtein` without its native code: distances and ratios with the same results.

Its functions that list single edits or find medians choose between equally good answers by the
order of their C code. They are refused, so that no answer differs from the package's own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

_REFUSED = (
    "apply_edit", "editops", "inverse", "matching_blocks", "median", "median_improve", "opcodes",
    "quickmedian", "seqratio", "setmedian", "setratio", "subtract_edit",
)  # fmt: skip

Items = Sequence[Hashable]


def fill_module(namespace: dict[str, Any]) -> None:
    """Fills the module `Levenshtein`."""
    namespace["__doc__"] = "Distances of texts, without the native code of the package."
    for function in (distance, hamming, jaro, jaro_winkler, ratio):
        namespace[function.__name__] = function
    for name in _REFUSED:
        namespace[name] = _refusing(name)
    namespace["__all__"] = sorted(("distance", "hamming", "jaro", "jaro_winkler", "ratio"))


def _refusing(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **named: Any) -> Any:
        raise NotImplementedError(
            f"Levenshtein.{name} needs native code, which is not installed: use difflib, or "
            "distance, ratio, hamming, jaro and jaro_winkler of this module"
        )

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


def _processed(one: Any, other: Any, processor: Callable[[Any], Any] | None) -> tuple[Items, Items]:
    return (one, other) if processor is None else (processor(one), processor(other))


def _without_cutoff(cutoff: float | None) -> None:
    """Refuses a least share: which values count as equal to it depends on the native code."""
    if cutoff is not None:
        raise NotImplementedError(
            "score_cutoff of a share needs native code, which is not installed: compare the result"
        )


def distance(
    s1: Any,
    s2: Any,
    *,
    weights: tuple[int, int, int] | None = (1, 1, 1),
    processor: Callable[[Any], Any] | None = None,
    score_cutoff: int | None = None,
    score_hint: int | None = None,
) -> int:
    """Returns the least cost of insertions, deletions and replacements that turn `s1` into `s2`."""
    one, other = _processed(s1, s2, processor)
    insert, delete, replace = weights or (1, 1, 1)
    if insert == delete == replace:
        found = insert * _edits(one, other)
    elif insert == delete and replace >= 2 * insert:
        found = insert * (len(one) + len(other) - 2 * _common(one, other))
    else:
        found = _weighted(one, other, insert, delete, replace)
    return found if score_cutoff is None or found <= score_cutoff else score_cutoff + 1


def _positions(items: Items) -> dict[Hashable, int]:
    """For each item the bits of the positions where it is."""
    found: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        found[item] = found.get(item, 0) | 1 << index
    return found


def _edits(one: Items, other: Items) -> int:
    """The distance of Levenshtein, a column of the table at a time (Myers 1999, Hyyrö 2003)."""
    if not one:
        return len(other)
    where, mask, last = _positions(one), (1 << len(one)) - 1, 1 << len(one) - 1
    up, down, found = mask, 0, len(one)
    for item in other:
        same = where.get(item, 0)
        zero = (((same & up) + up) ^ up) | same | down
        right = down | ~(zero | up) & mask
        left = up & zero
        found += bool(right & last) - bool(left & last)
        right = right << 1 | 1
        up = (left << 1 | ~(zero | right)) & mask
        down = right & zero & mask
    return found


def _common(one: Items, other: Items) -> int:
    """The length of the longest common subsequence, a column at a time (Hyyrö 2004)."""
    where, mask = _positions(one), (1 << len(one)) - 1
    open_ = mask
    for item in other:
        same = open_ & where.get(item, 0)
        open_ = (open_ + same | open_ - same) & mask
    return len(one) - open_.bit_count()


def _weighted(one: Items, other: Items, insert: int, delete: int, replace: int) -> int:
    row = [count * insert for count in range(len(other) + 1)]
    for item in one:
        diagonal, row[0] = row[0], row[0] + delete
        for index, wanted in enumerate(other, 1):
            cost = diagonal if item == wanted else diagonal + replace
            diagonal = row[index]
            row[index] = min(cost, row[index] + delete, row[index - 1] + insert)
    return row[-1]


def ratio(
    s1: Any,
    s2: Any,
    *,
    processor: Callable[[Any], Any] | None = None,
    score_cutoff: float | None = None,
    score_hint: float | None = None,
) -> float:
    """Returns the share of items that need neither be inserted nor deleted, from 0 to 1."""
    _without_cutoff(score_cutoff)
    one, other = _processed(s1, s2, processor)
    total = len(one) + len(other)
    missing = total - 2 * _common(one, other)
    return 1.0 - missing / total if total else 1.0


def hamming(
    s1: Any,
    s2: Any,
    *,
    pad: bool = True,
    processor: Callable[[Any], Any] | None = None,
    score_cutoff: int | None = None,
    score_hint: int | None = None,
) -> int:
    """Returns the number of positions where the two differ.

    Raises:
        ValueError: They have different lengths, and `pad` is false.
    """
    one, other = _processed(s1, s2, processor)
    if len(one) != len(other) and not pad:
        raise ValueError("Sequences are not the same length.")
    found = abs(len(one) - len(other)) + sum(a != b for a, b in zip(one, other, strict=False))
    return found if score_cutoff is None or found <= score_cutoff else score_cutoff + 1


def jaro(
    s1: Any,
    s2: Any,
    *,
    processor: Callable[[Any], Any] | None = None,
    score_cutoff: float | None = None,
) -> float:
    """Returns the similarity of Jaro, from 0 to 1."""
    _without_cutoff(score_cutoff)
    one, other = _processed(s1, s2, processor)
    return _jaro(one, other)


def _jaro(one: Items, other: Items) -> float:
    if not one or not other:
        return float(not one and not other)
    window = max(0, max(len(one), len(other)) // 2 - 1)
    taken, matched = [False] * len(other), []
    for index, item in enumerate(one):
        for place in range(max(0, index - window), min(len(other), index + window + 1)):
            if not taken[place] and other[place] == item:
                taken[place] = True
                matched.append(item)
                break
    if not matched:
        return 0.0
    facing = [item for item, is_taken in zip(other, taken, strict=True) if is_taken]
    swapped = sum(a != b for a, b in zip(matched, facing, strict=True)) // 2
    count = len(matched)
    return (count / len(one) + count / len(other) + (count - swapped) / count) / 3.0


def jaro_winkler(
    s1: Any,
    s2: Any,
    *,
    prefix_weight: float = 0.1,
    processor: Callable[[Any], Any] | None = None,
    score_cutoff: float | None = None,
) -> float:
    """Returns the similarity of Jaro, higher for texts that begin alike.

    Raises:
        ValueError: `prefix_weight` is not between 0 and 0.25.
    """
    if not 0.0 <= prefix_weight <= 0.25:
        raise ValueError("prefix_weight has to be in the range 0.0 - 0.25")
    _without_cutoff(score_cutoff)
    one, other = _processed(s1, s2, processor)
    found, prefix = _jaro(one, other), 0
    for a, b in zip(one[:4], other[:4], strict=False):
        if a != b:
            break
        prefix += 1
    if found > 0.7:
        found += prefix * prefix_weight * (1.0 - found)
    return found
