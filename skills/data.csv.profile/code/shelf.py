"""Keeps the numbers of columns in little room: packed, first in memory, then in a file.

What comes back is bit for bit what was put in.
"""

import os
import shutil
import tempfile

import numpy as np

MEMORY_BYTES = 64 << 20
# What is left of the workspace for others.
SPARE_FILE_BYTES = 16 << 20

WHOLE_TYPES = (np.int8, np.int16, np.int32)
# Decimal numbers with up to so many digits behind the point are kept as whole ones.
SCALES = (1.0, 100.0, 10_000.0)
PROBE = 512


class Full(Exception):
    """Neither memory nor the workspace has room for more."""


class Shelf:
    """Room for parts of columns."""

    def __init__(self, memory_bytes=None, file_bytes=None):
        self._memory_room = MEMORY_BYTES if memory_bytes is None else memory_bytes
        self._file_room = free_bytes() if file_bytes is None else file_bytes
        self._file = None

    def room(self):
        """Returns how many bytes fit."""
        return self._memory_room + self._file_room

    def put(self, values):
        """Keeps a part, and returns it as something to `load`; raises `Full`."""
        array, scale, dtype = packed(values)
        if array.nbytes <= self._memory_room:
            self._memory_room -= array.nbytes
            return Part(array, scale, dtype, None)
        if array.nbytes > self._file_room:
            raise Full
        if self._file is None:
            self._file = tempfile.TemporaryFile()
        offset = self._file.seek(0, os.SEEK_END)
        try:
            self._file.write(array)
            self._file.flush()
        except OSError:
            # Somebody else has filled the workspace.
            self._file_room = 0
            raise Full from None
        self._file_room -= array.nbytes
        return Part((offset, array.dtype, len(array)), scale, dtype, self._file)

    def drop(self, parts):
        """Gives back the memory of `parts`; room in the file comes back with `clear`."""
        self._memory_room += sum(part.memory_bytes() for part in parts)

    def clear(self):
        """Forgets what is in the file."""
        if self._file is not None:
            self._file_room += self._file.seek(0, os.SEEK_END)
            self._file.close()
            self._file = None


class Part:
    """Some of a column's numbers on a shelf."""

    def __init__(self, place, scale, dtype, file):
        self._place, self._scale, self._dtype, self._file = place, scale, dtype, file

    def __len__(self):
        return len(self._place) if self._file is None else self._place[2]

    def memory_bytes(self):
        """Returns how much memory the part holds."""
        return self._place.nbytes if self._file is None else 0

    def load(self):
        """Returns the numbers."""
        array = self._place
        if self._file is not None:
            offset, dtype, count = self._place
            self._file.seek(offset)
            array = np.frombuffer(self._file.read(count * dtype.itemsize), dtype=dtype)
        if self._scale is not None:
            return array / self._scale
        return array.astype(self._dtype, copy=False)


class Kept:
    """The parts of one column on a shelf.

    Once the shelf is full it gives them up, so that others have room; the column is read again.
    """

    def __init__(self, shelf):
        self.is_given_up = False
        self._shelf = shelf
        self._parts = []

    def put(self, values):
        """Keeps some more values."""
        if self.is_given_up:
            return
        try:
            self._parts.append(self._shelf.put(values))
        except Full:
            self.clear()
            self.is_given_up = True

    def begin_again(self):
        """Prepares for the values of a column that was given up."""
        self.is_given_up = False

    def blocks(self):
        """Yields the values part by part."""
        for part in self._parts:
            yield part.load()

    def joined(self, dtype):
        """Returns the values as one array of the type `dtype`."""
        values = np.empty(sum(map(len, self._parts)), dtype=dtype)
        offset = 0
        for block in self.blocks():
            values[offset : offset + len(block)] = block
            offset += len(block)
        return values

    def clear(self):
        """Forgets the values."""
        self._shelf.drop(self._parts)
        self._parts = []


def free_bytes():
    """Returns how much of the workspace may be used."""
    try:
        free = shutil.disk_usage(tempfile.gettempdir()).free
    except OSError:
        return 0
    return max(0, free - SPARE_FILE_BYTES)


def packed(values):
    """Returns `values` in few bytes, their scale if these are whole numbers, and their type."""
    if values.dtype.kind == "i" and len(values):
        return _narrowed(values, values.min(), values.max()), None, values.dtype
    if values.dtype.kind == "f" and len(values):
        for scale in SCALES:
            whole = _scaled(values, scale)
            if whole is not None:
                return _narrowed(whole, whole.min(), whole.max()), scale, values.dtype
    # A view would keep the whole part alive.
    return values.copy(), None, values.dtype


def _narrowed(values, low, high):
    for kind in WHOLE_TYPES:
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return values.astype(kind)
    return values.copy()


def _scaled(values, scale):
    """Returns `values * scale` if these are whole numbers of 32 bits that lead back to `values`."""
    with np.errstate(over="ignore", invalid="ignore"):
        for some in (values[:PROBE], values):
            whole = np.rint(some * scale)
            if not (np.abs(whole) < 1 << 31).all() or (whole / scale != some).any():
                return None
    zeros = values[values == 0]
    return None if np.signbit(zeros).any() else whole
