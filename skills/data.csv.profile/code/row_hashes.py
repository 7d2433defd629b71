"""Counts rows that repeat an earlier row, by a hash of 96 bits for each row.

A row's hash is the sum of its fields' hashes, so columns can be added one by one. The keys are
drawn anew for each run: nobody can write a file whose different rows have equal hashes.
"""

import secrets

import numpy as np

# The finalizer of SplitMix64: each bit of the input changes half of the output's.
FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
SHIFTS = tuple(np.uint64(bits) for bits in (30, 27, 31, 32))

# The identity of a missing field: bits of a NaN, so that no number has it.
MISSING = np.uint64(0x7FF8_0000_0000_0001)

# Rows that are sorted at once.
ROWS_AT_ONCE = 1 << 20


def random_keys(count):
    """Returns `count` odd numbers of 64 bits that nobody can guess."""
    return np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64) | np.uint64(1)


def mixed(bits):
    """Returns an array of 64 bits in which equal ones stay equal, and all others look random."""
    bits = bits ^ (bits >> SHIFTS[0])
    bits *= FIRST_FACTOR
    bits ^= bits >> SHIFTS[1]
    bits *= SECOND_FACTOR
    bits ^= bits >> SHIFTS[2]
    return bits


class RowHashes:
    """The hashes of all rows so far.

    They lie in one piece if the file has about `expected` rows. Once they are dropped, that piece
    has room for other large things.
    """

    def __init__(self, width):
        self._keys, self._factors = random_keys(width), random_keys(width)
        self._pieces = []
        self._free = 0
        self.rows = 0

    def begin(self, rows, expected):
        """Begins a part of so many rows; `expected` are those of the part and all that follow."""
        if rows > self._free:
            size = max(rows, expected)
            self._pieces.append([np.zeros(size, np.uint64), np.zeros(size, np.uint32), 0])
            self._free = size
        piece = self._pieces[-1]
        part = slice(piece[2], piece[2] + rows)
        self._wide, self._narrow = piece[0][part], piece[1][part]
        piece[2] += rows
        self._free -= rows
        self.rows += rows

    def add(self, position, identities):
        """Adds a column to the part; fields are equal if and only if their `identities` are."""
        bits = mixed(identities + self._keys[position])
        self._wide += bits
        bits *= self._factors[position]
        bits >>= SHIFTS[3]
        self._narrow += bits.astype(np.uint32)

    def count_duplicates(self):
        """Returns how many rows equal an earlier one."""
        shares = self.rows // ROWS_AT_ONCE + 1
        return self.rows - sum(self._count_distinct(share, shares) for share in range(shares))

    def _count_distinct(self, share, shares):
        """Returns the number of distinct rows in one of several shares of the hashes."""
        wide, narrow = [np.zeros(0, np.uint64)], [np.zeros(0, np.uint32)]
        for all_wide, all_narrow, rows in self._pieces:
            for start in range(0, rows, ROWS_AT_ONCE):
                some = slice(start, min(rows, start + ROWS_AT_ONCE))
                chosen = all_wide[some] % np.uint64(shares) == share
                wide.append(all_wide[some][chosen])
                narrow.append(all_narrow[some][chosen])
        wide = np.concatenate(wide)
        ordered = np.sort(wide)
        if not (ordered[1:] == ordered[:-1]).any():
            return len(wide)
        narrow = np.concatenate(narrow)
        order = np.lexsort((narrow, wide))
        wide, narrow = wide[order], narrow[order]
        is_new = (wide[1:] != wide[:-1]) | (narrow[1:] != narrow[:-1])
        return 1 + int(np.count_nonzero(is_new))
