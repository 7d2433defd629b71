"""Counts how often values occur, and finds the most frequent ones, in a sorted array.

As in `Series.value_counts`, equally frequent values come in the order of their first occurrence. No
array is made that is as large as the values, as long as many of them are equal or all differ.
"""

import itertools

import numpy as np

VALUES_AT_ONCE = 1 << 20
# Equally frequent values that are looked for one by one; of more, the first ones come soon.
MOST_NAMED = 1_000


class Ranking:
    """How often each of the values in the sorted array `ordered` occurs."""

    def __init__(self, ordered):
        self._ordered = ordered
        is_new = ordered[1:] != ordered[:-1]
        self._distinct = int(np.count_nonzero(is_new)) + (len(ordered) > 0)
        self._starts = None
        if self._distinct < len(ordered):
            self._starts = np.zeros(self._distinct + 1, dtype=np.intp)
            self._starts[1:-1] = np.flatnonzero(is_new)
            self._starts[1:-1] += 1
            self._starts[-1] = len(ordered)

    def __len__(self):
        return self._distinct

    def top(self, size, blocks):
        """Returns the `size` most frequent values with their counts, the most frequent one first.

        `blocks()` yields the values in their first order.
        """
        size = min(size, len(self))
        if self._starts is None:
            return [(value, 1) for value in _first(size, blocks())]
        counts = np.diff(self._starts)
        least = _nth_largest(counts, size)
        above = np.flatnonzero(counts > least)
        equal = np.flatnonzero(counts == least)
        missing = size - len(above)
        if len(equal) <= MOST_NAMED:
            equal = self._in_first_order(equal, blocks, missing)
        else:
            equal = self._first_of_count(least, blocks, missing)
        above_counts = dict(zip(above.tolist(), counts[above].tolist(), strict=True))
        del counts
        # Sorting keeps the order of equally frequent ones.
        ranked = self._in_first_order(above, blocks, len(above), keys=True)
        best = sorted(((v, above_counts[key]) for key, v in ranked), key=lambda pair: -pair[1])
        return best + [(value, int(least)) for value in equal]

    def ranked(self, candidates, blocks):
        """Returns those of the sorted `candidates` that occur, the most frequent one first."""
        found = _occurrences(candidates, blocks(), len(candidates))
        pairs = [(value, self._count_of(value)) for _, value in found]
        return [value for value, _ in sorted(pairs, key=lambda pair: -pair[1])]

    def _count_of(self, values):
        right = np.searchsorted(self._ordered, values, "right")
        return right - np.searchsorted(self._ordered, values)

    def _in_first_order(self, runs, blocks, size, keys=False):
        """Returns the values of the first `size` of `runs` to occur; with `keys` as pairs."""
        found = _occurrences(self._ordered[self._starts[runs]], blocks(), size)
        return [(int(runs[at]), value) if keys else value for at, value in found]

    def _first_of_count(self, count, blocks, size):
        """Returns the first `size` values that occur `count` times."""
        found = {}
        for block in blocks():
            chosen = block[self._count_of(block) == count]
            for value in chosen.tolist() if chosen.dtype.kind != "f" else chosen:
                if len(found) == size:
                    return list(found)
                found.setdefault(value, None)
        return list(found)


def _first(size, blocks):
    return list(itertools.islice(itertools.chain.from_iterable(blocks), size))


def _nth_largest(counts, size):
    best = counts[:0]
    for start in range(0, len(counts), VALUES_AT_ONCE):
        some = np.concatenate([best, counts[start : start + VALUES_AT_ONCE]])
        best = np.partition(some, len(some) - size)[-size:] if len(some) > size else some
    return best.min()


def _occurrences(candidates, blocks, size):
    """Returns the first `size` of the sorted `candidates` to occur, as pairs.

    A pair has the place among the candidates and the value as it is written there.
    """
    found = {}
    for block in blocks if size else ():
        at = np.searchsorted(candidates, block)
        at[at == len(candidates)] = 0
        rows = np.flatnonzero(candidates[at] == block)
        which, first = np.unique(at[rows], return_index=True)
        for place in which[np.argsort(first)].tolist():
            if place not in found and len(found) < size:
                row = rows[first[np.searchsorted(which, place)]]
                found[place] = block[row]
        if len(found) == size:
            break
    return list(found.items())
