"""Flushes files that a program has left open, whose buffers hold unwritten data."""

from __future__ import annotations

import gc
import io
import os
from typing import Any

_WRITERS = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)
_objects = gc.get_objects
_fstat = os.fstat


def flush(inode: int | None = None) -> None:
    """Flushes the open files of a program, or those with this inode number."""
    # Text first: it flushes the bytes below it as well.
    for kind in _WRITERS:
        for found in _objects():
            if type(found) is kind:
                _flush_one(found, inode)


def _flush_one(file: Any, inode: int | None) -> None:
    try:
        if file.closed or not file.writable():
            return
        if inode is None or _fstat(file.fileno()).st_ino == inode:
            file.flush()
    except (OSError, ValueError):
        pass  # a stream in memory, a full workspace, or a descriptor that was closed below it
