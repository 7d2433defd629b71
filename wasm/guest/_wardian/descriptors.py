"""The three standard descriptors of a child process, which takes those of its parent meanwhile.

What a child writes is collected in a file of the workspace that has no name: so it does not matter whether
the child writes through `sys.stdout`, `os.write` or C code.
"""

from __future__ import annotations

import io
import itertools
import os
import posix
import stat
import sys
from collections.abc import Mapping
from typing import Any

from _wardian import files, places

_owner: Any = files if sys.platform == "wasi" else posix  # whose C library cannot duplicate
_dup, _dup2 = _owner.dup, _owner.dup2
_open, _close, _read, _write = posix.open, posix.close, posix.read, posix.write
_lseek, _unlink, _fstat = posix.lseek, posix.unlink, posix.fstat

_READ_SIZE = 1 << 16
_LINE_SIZE = 1 << 10
_OPEN_MAX = 256
"""Most open files of a run."""

duplicate = _dup
close = _close

_numbers = itertools.count()


def nowhere() -> int:
    """Opens `/dev/null`."""
    return _open("/dev/null", os.O_RDWR)


def scratch(content: bytes = b"") -> int:
    """Opens a new file without a name, with this content, at its beginning."""
    while True:
        path = f"{places.WORKSPACE}/.child-{posix.getpid()}-{next(_numbers)}"
        try:
            descriptor = _open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        break
    _unlink(path)
    try:
        put(descriptor, content)
        _lseek(descriptor, 0, 0)
    except BaseException:
        _close(descriptor)
        raise
    return descriptor


def is_file(number: int) -> bool:
    """True for an open file, and false for a stream of the run."""
    try:
        return stat.S_ISREG(_fstat(number).st_mode)
    except OSError:
        return False


def put(descriptor: int, content: bytes) -> None:
    """Writes everything to a descriptor."""
    rest = memoryview(content)
    while rest:
        rest = rest[_write(descriptor, rest) :]


def content_of(descriptor: int) -> bytes:
    """Reads a whole file from its beginning."""
    _lseek(descriptor, 0, 0)
    return rest_of(descriptor)


def rest_of(descriptor: int) -> bytes:
    """Reads a descriptor to its end."""
    parts = []
    while part := _read(descriptor, _READ_SIZE):
        parts.append(part)
    return b"".join(parts)


def open_ones() -> set[int]:
    """The numbers of the open files, without the standard ones."""
    found = set()
    for number in range(3, _OPEN_MAX):
        try:
            _fstat(number)
        except OSError:
            continue
        found.add(number)
    return found


def put_in_place(wanted: Mapping[int, int]) -> None:
    """Puts descriptors in the place of standard ones, for good. One of them may be another standard one."""
    wanted = {place: number for place, number in wanted.items() if place != number}
    held: dict[int, int] = {}
    try:
        for place, number in wanted.items():
            if number in wanted:  # it will be another file when its turn comes
                held[place] = _dup(number)
        for place, number in wanted.items():
            _dup2(held.get(place, number), place)
    finally:
        for number in held.values():
            _close(number)


def line_of(descriptor: int) -> bytes:
    """Reads a line, and nothing behind it."""
    parts = []
    try:
        at: int | None = _lseek(descriptor, 0, os.SEEK_CUR)
    except OSError:  # a stream
        at = None
    while part := _read(descriptor, 1 if at is None else _LINE_SIZE):
        line, end, _ = part.partition(b"\n")
        parts.append(line + end)
        if at is not None:
            at += len(line + end)
        if end:
            if at is not None:
                _lseek(descriptor, at, os.SEEK_SET)
            break
    return b"".join(parts)


class Redirection:
    """Puts descriptors in the place of standard ones for the time of a `with` statement.

    The descriptors stay open, and belong to the caller. One of them may be that of another standard one. All
    three are put back, since a child may close those of its parent too.
    """

    def __init__(self, wanted: Mapping[int, int]) -> None:
        self._wanted = {place: number for place, number in wanted.items() if place != number}
        self._saved: list[tuple[int, int | None]] = []

    def __enter__(self) -> Redirection:
        try:
            for place in range(3):
                try:
                    saved = _dup(place)
                except OSError:  # it is closed
                    saved = None
                self._saved.append((place, saved))
            put_in_place(self._wanted)
        except BaseException:
            self._restore()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._restore()

    def _restore(self) -> None:
        while self._saved:
            place, saved = self._saved.pop()
            try:
                if saved is None:
                    _close(place)
                else:
                    _dup2(saved, place)
                    _close(saved)
            except OSError:
                pass


class Output(io.FileIO):
    """A standard stream at its lowest level. Switched off, it drops what buffers still hold."""

    is_off = False

    def write(self, data: Any, /) -> int:
        """Writes data, or drops them."""
        if self.is_off:
            return memoryview(data).nbytes
        return super().write(data)  # type: ignore[return-value]


def text_stream(number: int, encoding: str, errors: str, mode: str) -> io.TextIOWrapper:
    """Opens a standard descriptor as a text stream. The mode is `lines`, `blocks` or `none`."""
    raw = Output(number, "rb" if number == 0 else "wb", closefd=False)
    raw.name = ("<stdin>", "<stdout>", "<stderr>")[number]  # type: ignore[misc]
    if number == 0:
        return io.TextIOWrapper(io.BufferedReader(raw), encoding=encoding, errors=errors)
    stream = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=encoding,
        errors=errors,
        line_buffering=mode == "lines",
        write_through=mode == "none",
    )
    stream.mode = "w"  # type: ignore[misc]
    return stream
