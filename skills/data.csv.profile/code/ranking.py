"""Counts how often values occur, and finds the most frequent ones, in a sorted array.

As in `Series.value_counts`, equally frequent values come in the order of their first occurrence.
"""

import numpy as np


class Ranking:
    """The distinct values of the sorted array `ordered`, and how often each occurs."""

    def __init__(self, ordered):
        changes = np.flatnonzero(ordered[1:] != ordered[:-1])
        starts = np.concatenate([[0], changes + 1]) if len(ordered) else changes
        self._counts = np.diff(np.append(starts, len(ordered)))
        self._starts, self._ordered = starts, ordered

    def __len__(self):
        return len(self._starts)

    def top(self, size, blocks):
        """Returns the `size` most frequent values with their counts, the most frequent one first.

        `blocks()` yields the values in their first order.
        """
        size = min(size, len(self))
        if not size:
            return []
        least = np.partition(self._counts, len(self) - size)[len(self) - size]
        chosen = np.flatnonzero(self._counts >= least)
        counts = self._counts[chosen]
        is_above = counts > least
        missing = size - int(np.count_nonzero(is_above))
        values, first = _first_occurrences(
            self._ordered[self._starts[chosen]],
            blocks(),
            lambda is_found: is_found[is_above].all()
            and np.count_nonzero(is_found & ~is_above) >= missing,
        )
        found = np.flatnonzero(first >= 0)
        best = found[np.lexsort((first[found], -counts[found]))][:size]
        return [(values[n], int(counts[n])) for n in best]

    def ranked(self, candidates, blocks):
        """Returns those of the sorted `candidates` that occur, the most frequent one first."""
        _, first = _first_occurrences(candidates, blocks(), lambda is_found: is_found.all())
        at = np.searchsorted(self._ordered[self._starts], candidates)
        counts = np.where(first >= 0, self._counts[np.minimum(at, len(self) - 1)], 0)
        order = np.lexsort((first, -counts))
        return [candidates[n] for n in order if first[n] >= 0]


def _first_occurrences(candidates, blocks, is_enough):
    """Returns the sorted `candidates` as they are written first, and where; -1 if not seen.

    Looks no further once `is_enough(is_found)`.
    """
    written = candidates.copy()
    first = np.full(len(candidates), -1, dtype=np.int64)
    offset = 0
    for block in blocks:
        at = np.searchsorted(candidates, block)
        at[at == len(candidates)] = 0
        rows = np.flatnonzero(candidates[at] == block)
        which, index = np.unique(at[rows], return_index=True)
        is_new = first[which] < 0
        which, rows = which[is_new], rows[index[is_new]]
        first[which] = offset + rows
        written[which] = block[rows]
        offset += len(block)
        if len(which) and is_enough(first >= 0):
            break
    return written, first
