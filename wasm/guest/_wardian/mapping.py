"""`mmap`: files mapped into memory, as copies that are written back.

WebAssembly cannot map files, so a map holds a copy of its part of the file. Changes of a shared map
are written to the file when the map is flushed or closed, before any file is opened, and at the end
of the program. Later changes of the file itself are not visible in the map.
"""

from __future__ import annotations

import atexit
import errno
import os
import sys
import weakref
import zlib
from typing import Any

_CHUNK = 1 << 16
_PAGE = 4096
_LARGEST = (1 << 31) - 1

ACCESS_DEFAULT, ACCESS_READ, ACCESS_WRITE, ACCESS_COPY = 0, 1, 2, 3
MAP_SHARED, MAP_PRIVATE, MAP_ANONYMOUS = 1, 2, 32
PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4

_shared: weakref.WeakSet[mmap] = weakref.WeakSet()
"""Open maps whose changes are written to a file."""
_is_watching = False


class mmap:  # noqa: N801
    """A file, or a part of it, as bytes in memory."""

    def __init__(
        self,
        fileno: int,
        length: int,
        flags: int = MAP_SHARED,
        prot: int = PROT_READ | PROT_WRITE,
        access: int = ACCESS_DEFAULT,
        offset: int = 0,
        *,
        trackfd: bool = True,
    ) -> None:
        self._fd = -1
        self._data: bytearray | None = None
        if length < 0:
            raise OverflowError("memory mapped length must be positive")
        if offset < 0:
            raise OverflowError("memory mapped offset must be positive")
        if access != ACCESS_DEFAULT and (
            flags != MAP_SHARED or prot != PROT_READ | PROT_WRITE
        ):
            raise ValueError("mmap can't specify both access and flags, prot.")
        if access not in (ACCESS_DEFAULT, ACCESS_READ, ACCESS_WRITE, ACCESS_COPY):
            raise ValueError("mmap invalid access parameter.")
        if offset % _PAGE:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        is_private = access == ACCESS_COPY or bool(flags & MAP_PRIVATE)
        self._is_writable = access != ACCESS_READ and bool(prot & PROT_WRITE)
        self._access = access
        self._offset = offset
        self._position = 0
        if fileno == -1:
            if length == 0:
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            self._data = bytearray(length)
            return
        self._read_file(fileno, length)
        if self._is_writable and not is_private:
            fcntl: Any = sys.modules["fcntl"]  # made by `locks`, after this module
            if fcntl.fcntl(fileno, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                self._data = None
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            self._fd = os.dup(fileno)
            self._sums = self._current_sums()
            _shared.add(self)
            _watch_opening()

    def _read_file(self, fileno: int, length: int) -> None:
        for other in list(_shared):
            other._write_back()
        size = os.fstat(fileno).st_size
        if length == 0:
            if size == 0:
                raise ValueError("cannot mmap an empty file")
            if self._offset >= size:
                raise ValueError("mmap offset is greater than file size")
            length = size - self._offset
        elif self._offset > size or size - self._offset < length:
            raise ValueError("mmap length is greater than file size")
        if length > _LARGEST:
            raise ValueError("mmap length is too large")
        data = bytearray()
        while len(data) < length:
            part = os.pread(fileno, length - len(data), self._offset + len(data))
            if not part:
                break
            data += part
        self._data = data

    def _current_sums(self) -> list[int]:
        view = memoryview(self._data)  # type: ignore[arg-type]
        return [zlib.crc32(view[at : at + _CHUNK]) for at in range(0, len(view), _CHUNK)]

    def _write_back(self) -> None:
        if self._fd < 0 or self._data is None:
            return
        view, sums = memoryview(self._data), self._current_sums()
        for index, (old, new) in enumerate(zip(self._sums, sums, strict=True)):
            if old != new:
                at = index * _CHUNK
                self._write_whole(view[at : at + _CHUNK], self._offset + at)
        self._sums = sums

    def _write_whole(self, part: memoryview, offset: int) -> None:
        """Writes all of a part: before the quota is used up, a write can end early."""
        while part:
            written = os.pwrite(self._fd, part, offset)
            part, offset = part[written:], offset + written

    def _bytes(self) -> bytearray:
        if self._data is None:
            raise ValueError("mmap closed or invalid")
        return self._data

    def _writable(self) -> bytearray:
        data = self._bytes()
        if not self._is_writable:
            raise TypeError("mmap can't modify a readonly memory map.")
        return data

    def __buffer__(self, flags: int) -> memoryview:
        view = memoryview(self._bytes())
        return view if self._is_writable else view.toreadonly()

    @property
    def closed(self) -> bool:
        """True once the map is closed."""
        return self._data is None

    def close(self) -> None:
        """Writes changes to the file and releases the memory."""
        if self._data is None:
            return
        self._write_back()
        _shared.discard(self)
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._data = -1, None

    def flush(self, offset: int = 0, size: int = -1, /, **options: Any) -> None:
        """Writes changes to the file."""
        length = len(self._bytes())
        if offset < 0 or offset > length or size > length - offset:
            raise ValueError("flush values out of range")
        self._write_back()

    def size(self) -> int:
        """The size of the file, or of a map without one."""
        self._bytes()
        return os.fstat(self._fd).st_size if self._fd >= 0 else len(self) + self._offset

    def resize(self, newsize: int, /) -> None:
        """Changes the size of the map and of its file."""
        data = self._bytes()
        if self._access in (ACCESS_READ, ACCESS_COPY):
            raise TypeError("mmap can't resize a readonly or copy-on-write memory map.")
        if newsize < 0:
            raise ValueError("new size out of range")
        if newsize < len(data):
            del data[newsize:]
        else:
            data.extend(bytes(newsize - len(data)))
        if self._fd >= 0:
            os.ftruncate(self._fd, self._offset + newsize)
            self._sums = [0] * len(self._current_sums())
            self._write_back()

    def tell(self) -> int:
        """The position of the next `read` or `write`."""
        self._bytes()
        return self._position

    def seek(self, pos: int, whence: int = os.SEEK_SET, /) -> int:
        """Sets the position."""
        starts = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: len(self)}
        if whence not in starts:
            raise ValueError("unknown seek type")
        where = starts[whence] + pos
        if not 0 <= where <= len(self):
            raise ValueError("seek out of range")
        self._position = where
        return where

    def seekable(self) -> bool:
        """A position can always be set."""
        return True

    def read(self, n: int | None = None, /) -> bytes:
        """Returns the next bytes."""
        data = self._bytes()
        end = len(data) if n is None or n < 0 else min(len(data), self._position + n)
        found = bytes(data[self._position : end])
        self._position = max(self._position, end)
        return found

    def read_byte(self) -> int:
        """Returns the next byte as a number."""
        data = self._bytes()
        if self._position >= len(data):
            raise ValueError("read byte out of range")
        self._position += 1
        return data[self._position - 1]

    def readline(self) -> bytes:
        """Returns the bytes up to the end of the line."""
        data = self._bytes()
        end = data.find(b"\n", self._position) + 1 or len(data)
        found = bytes(data[self._position : end])
        self._position = end
        return found

    def write(self, data: Any, /) -> int:
        """Writes bytes at the position."""
        mapped, view = self._writable(), memoryview(data).cast("B")
        if self._position + len(view) > len(mapped):
            raise ValueError("data out of range")
        mapped[self._position : self._position + len(view)] = view
        self._position += len(view)
        return len(view)

    def write_byte(self, byte: int, /) -> None:
        """Writes a number as one byte."""
        mapped = self._writable()
        if self._position >= len(mapped):
            raise ValueError("write byte out of range")
        mapped[self._position] = byte
        self._position += 1

    def find(self, sub: Any, start: int | None = None, end: int | None = None, /) -> int:
        """The first place of some bytes, from the position on; -1 if there is none."""
        data = self._bytes()
        first = self._position if start is None else start
        return data.find(sub, first, len(data) if end is None else end)

    def rfind(self, sub: Any, start: int | None = None, end: int | None = None, /) -> int:
        """The last place of some bytes, from the position on; -1 if there is none."""
        data = self._bytes()
        first = self._position if start is None else start
        return data.rfind(sub, first, len(data) if end is None else end)

    def move(self, dest: int, src: int, count: int, /) -> None:
        """Copies bytes within the map."""
        data = self._writable()
        if min(dest, src, count) < 0 or max(dest, src) + count > len(data):
            raise ValueError("source, destination, or count out of range")
        data[dest : dest + count] = data[src : src + count]

    def madvise(self, option: int, start: int = 0, length: int = 0, /) -> None:
        """Does nothing: advice has no effect on a copy."""

    def __len__(self) -> int:
        return len(self._bytes())

    def __getitem__(self, index: Any) -> Any:
        data = self._bytes()
        if isinstance(index, slice):
            return bytes(data[index])
        try:
            return data[index]
        except IndexError:
            raise IndexError("mmap index out of range") from None

    def __setitem__(self, index: Any, value: Any) -> None:
        data = self._writable()
        if isinstance(index, slice):
            new = bytes(value)
            if len(new) != len(range(*index.indices(len(data)))):
                raise IndexError("mmap slice assignment is wrong size")
            data[index] = new
            return
        try:
            data[index] = value
        except IndexError:
            raise IndexError("mmap index out of range") from None

    def __enter__(self) -> mmap:
        self._bytes()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


mmap.__module__ = "mmap"


def _watch_opening() -> None:
    """Writes changes back before a program opens a file, and at its end."""
    global _is_watching
    if _is_watching:
        return
    _is_watching = True

    def notice(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            _write_all()

    sys.addaudithook(notice)
    atexit.register(_write_all)


def _write_all() -> None:
    for one in list(_shared):
        one._write_back()


def fill_module(namespace: dict[str, Any]) -> None:
    """Gives a module the names of `mmap`."""
    names = (
        "ACCESS_DEFAULT", "ACCESS_READ", "ACCESS_WRITE", "ACCESS_COPY", "MAP_SHARED",
        "MAP_PRIVATE", "MAP_ANONYMOUS", "PROT_READ", "PROT_WRITE", "PROT_EXEC", "mmap",
    )  # fmt: skip
    namespace.update({name: globals()[name] for name in names})
    namespace.update(
        MAP_ANON=MAP_ANONYMOUS,
        PAGESIZE=_PAGE,
        ALLOCATIONGRANULARITY=_PAGE,
        MADV_NORMAL=0,
        MADV_RANDOM=1,
        MADV_SEQUENTIAL=2,
        MADV_WILLNEED=3,
        MADV_DONTNEED=4,
        error=OSError,
    )
