"""Features of files on Linux that WASI lacks: permission bits, duplicates of descriptors, paths.

WASI has no permission bits, no `dup`, no `umask`. The bits are kept here by inode number, which the
host never uses twice. They are not enforced: a program runs as `root`, which Linux does not refuse
either. The other features are requests to the host.

`os` gets these functions; the module `posix` keeps its own.
"""

from __future__ import annotations

import os
import posix
import stat
import struct
import warnings
from collections.abc import Callable, Iterator
from errno import EBADF, EINVAL, ENOENT, EOPNOTSUPP, EROFS
from functools import wraps
from operator import index
from typing import Any

from _wardian import door, errors

_WORKSPACE_DEVICE = 2
_FIRST_UMASK = 0o022

_DUPLICATE, _DUPLICATE_TO, _FOLDER_PATH, _USAGE = 1, 2, 3, 4
_USAGE_FORMAT = struct.Struct("<5Q")

_modes: dict[int, int] = {}
"""Permission bits of the files of the workspace whose bits do not follow from the umask."""

_owners: dict[int, tuple[int, int]] = {}
"""User and group of the files of the workspace whose owner was changed."""

_umasks: list[tuple[int, int]] = [(0, _FIRST_UMASK)]
"""Umasks, each with the first inode number that it applies to."""

_open, _stat, _lstat, _fstat = posix.open, posix.stat, posix.lstat, posix.fstat
_access, _mkdir, _utime = posix.access, posix.mkdir, posix.utime
_chdir, _listdir, _scandir = posix.chdir, posix.listdir, posix.scandir
_read, _write, _pread, _pwrite = posix.read, posix.write, posix.pread, posix.pwrite
_set_inheritable = posix.set_inheritable
_ACCESS_MODES = posix.O_RDONLY | posix.O_WRONLY


class _Usage:
    """The usage of the workspace, and the inode number of the next file."""

    __slots__ = ("bytes", "entries", "next_inode", "used_bytes", "used_entries")

    def __init__(self) -> None:
        numbers = _USAGE_FORMAT.unpack(_ask(_USAGE, 0))
        self.bytes, self.used_bytes, self.entries, self.used_entries, self.next_inode = numbers


def _ask(operation: int, first: int, second: int = 0) -> bytes:
    """Sends the host a request about the run's own files."""
    if not (0 <= first < 1 << 32 and 0 <= second < 1 << 32):
        raise OSError(EBADF, posix.strerror(EBADF))
    answer = door.ask(b"\x07" + struct.pack("<BII", operation, first, second))
    number = int.from_bytes(answer[:2], "little")
    if number:
        raise errors.of_host(number)
    return answer[2:]


def _missing(path: object) -> OSError:
    return FileNotFoundError(ENOENT, posix.strerror(ENOENT), path)


def _refuse_empty(function: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a function refuse an empty path, which WASI's C library takes for the current folder."""

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        path = args[0] if args else kwargs.get("path", kwargs.get("src"))
        if path == "" or path == b"":
            raise _missing(path)
        if len(args) > 1 and (args[1] == "" or args[1] == b""):
            raise FileNotFoundError(ENOENT, posix.strerror(ENOENT), path, None, args[1])
        return function(*args, **kwargs)

    return checked


def _umask_of(inode: int) -> int:
    for first, umask in reversed(_umasks):
        if inode >= first:
            return umask
    return _FIRST_UMASK


def _permissions(result: os.stat_result) -> int:
    kind = stat.S_IFMT(result.st_mode)
    if kind == stat.S_IFLNK:
        return 0o777
    if kind == stat.S_IFCHR:
        return 0o666
    if result.st_dev != _WORKSPACE_DEVICE:
        return 0o555 if kind == stat.S_IFDIR else 0o444
    known = _modes.get(result.st_ino)
    if known is not None:
        return known
    return (0o777 if kind == stat.S_IFDIR else 0o666) & ~_umask_of(result.st_ino)


def _shown(result: os.stat_result) -> os.stat_result:
    """Adds the metadata of a file that WASI lacks."""
    _, (fields, extra) = result.__reduce__()  # type: ignore[misc]
    mode = fields[0] | _permissions(result)
    rest = fields[1:]
    if _owners and result.st_dev == _WORKSPACE_DEVICE:
        rest = (*fields[1:4], *_owners.get(result.st_ino, (0, 0)), *fields[6:])
    extra["st_blksize"] = 4096
    extra["st_blocks"] = -(-result.st_size // 512)
    return os.stat_result((mode, *rest), extra)


@wraps(_stat)
def _os_stat(path, *, dir_fd=None, follow_symlinks=True):  # type: ignore[no-untyped-def]
    if path == "" or path == b"":
        raise _missing(path)
    return _shown(_stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks))


@wraps(_lstat)
def _os_lstat(path, *, dir_fd=None):  # type: ignore[no-untyped-def]
    if path == "" or path == b"":
        raise _missing(path)
    return _shown(_lstat(path, dir_fd=dir_fd))


@wraps(_fstat)
def _os_fstat(fd):  # type: ignore[no-untyped-def]
    return _shown(_fstat(fd))


@wraps(posix.chmod)
def _os_chmod(path, mode, *, dir_fd=None, follow_symlinks=True):  # type: ignore[no-untyped-def]
    if path == "" or path == b"":
        raise _missing(path)
    found = _stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
    _set_mode(path, found, mode)
    if stat.S_ISLNK(found.st_mode):
        return
    # Linux notes when the bits were changed.
    _utime(path, ns=(found.st_atime_ns, found.st_mtime_ns), dir_fd=dir_fd)


def _set_mode(path: object, found: os.stat_result, mode: int) -> None:
    if not isinstance(mode, int):
        raise TypeError(f"an integer is required (got type {type(mode).__name__})")
    if found.st_dev != _WORKSPACE_DEVICE:
        raise OSError(EROFS, posix.strerror(EROFS), path)
    _modes[found.st_ino] = mode & 0o7777


def fchmod(fd: int, mode: int) -> None:
    """Changes the permission bits of an open file."""
    _os_chmod(fd, mode)


def lchmod(path: Any, mode: int) -> None:
    """Changes the permission bits of a file. A link is an error, as on Linux."""
    _os_chmod(path, mode, follow_symlinks=False)


def chown(
    path: Any, uid: int, gid: int, *, dir_fd: int | None = None, follow_symlinks: bool = True
) -> None:
    """Gives a file to another user and group, as `root` may; `-1` leaves one as it is."""
    uid, gid = identifier(uid, "uid"), identifier(gid, "gid")
    found = _os_stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
    if found.st_dev != _WORKSPACE_DEVICE:
        raise OSError(EROFS, posix.strerror(EROFS), path)
    user = found.st_uid if uid == -1 else uid
    _owners[found.st_ino] = (user, found.st_gid if gid == -1 else gid)


def identifier(number: Any, name: str) -> int:
    """A number of a user or group.

    Raises:
        TypeError: It is no integer.
        OverflowError: It has more than 32 bits.
    """
    value = index(number)
    if value < -1:
        raise OverflowError(f"{name} is less than minimum")
    if value >= 1 << 32:
        raise OverflowError(f"{name} is greater than maximum")
    return value


def fchown(fd: int, uid: int, gid: int) -> None:
    """Gives an open file to another user; see `chown`."""
    chown(fd, uid, gid)


def lchown(path: Any, uid: int, gid: int) -> None:
    """Gives a file or link to another user; see `chown`."""
    chown(path, uid, gid, follow_symlinks=False)


def present_umask() -> int:
    """The permission bits that new files do not get."""
    return _umasks[-1][1]


def umask(mask: int) -> int:
    """Sets the permission bits that new files do not get. Returns the previous mask."""
    before = _umasks[-1][1]
    mask &= 0o777
    if mask != before:
        _umasks.append((_Usage().next_inode, mask))
    return before


@wraps(posix.mkdir)
def _os_mkdir(path, mode=0o777, *, dir_fd=None):  # type: ignore[no-untyped-def]
    if path == "" or path == b"":
        raise _missing(path)
    _mkdir(path, mode, dir_fd=dir_fd)
    if mode & 0o7777 != 0o777:
        inode = _lstat(path, dir_fd=dir_fd).st_ino
        _modes[inode] = mode & 0o1777 & ~_umask_of(inode)


@wraps(posix.open)
def _os_open(path, flags, mode=0o777, *, dir_fd=None):  # type: ignore[no-untyped-def]
    if path == "" or path == b"":
        raise _missing(path)
    if not flags & _ACCESS_MODES:
        flags |= posix.O_RDONLY  # zero on Linux, so that programs leave it out
    if not flags & posix.O_CREAT:
        return _open(path, flags, dir_fd=dir_fd)
    if mode & 0o7777 == 0o666:
        return _open(path, flags, mode, dir_fd=dir_fd)
    next_inode = _Usage().next_inode
    fd = _open(path, flags, mode, dir_fd=dir_fd)
    inode = _fstat(fd).st_ino
    if inode >= next_inode:
        _modes[inode] = mode & 0o7777 & ~_umask_of(inode)
    return fd


@wraps(posix.access)
def _os_access(  # type: ignore[no-untyped-def]
    path, mode, *, dir_fd=None, effective_ids=False, follow_symlinks=True
):
    if path == "" or path == b"":
        return False
    if not _access(path, mode & ~os.X_OK, dir_fd=dir_fd, follow_symlinks=follow_symlinks):
        return False
    if not mode & os.X_OK:
        return True
    found = _os_stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
    return stat.S_ISDIR(found.st_mode) or bool(found.st_mode & 0o111)


def _folder_of(path: Any) -> Any:
    """The path of an open folder, if `path` is a descriptor."""
    if isinstance(path, int) and not isinstance(path, bool):
        return _ask(_FOLDER_PATH, path).decode()
    return path


@wraps(posix.listdir)
def _os_listdir(path=None):  # type: ignore[no-untyped-def]
    if path == "" or path == b"":
        raise _missing(path)
    return _listdir(_folder_of(path))


class DirEntry:
    """An entry of a folder, as `os.scandir` gives it."""

    __slots__ = ("_entry", "_is_fd", "_stats")

    def __init__(self, entry: Any, is_fd: bool) -> None:
        self._entry = entry
        self._is_fd = is_fd
        self._stats: dict[bool, os.stat_result] = {}

    @property
    def name(self) -> Any:
        """The entry's name."""
        return self._entry.name

    @property
    def path(self) -> Any:
        """The entry's full path."""
        return self._entry.name if self._is_fd else self._entry.path

    def inode(self) -> int:
        """Returns the number of the file."""
        return self._entry.inode()  # type: ignore[no-any-return]

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """True for a folder, or a link to one."""
        return self._entry.is_dir(follow_symlinks=follow_symlinks)  # type: ignore[no-any-return]

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """True for a regular file, or a link to one."""
        return self._entry.is_file(follow_symlinks=follow_symlinks)  # type: ignore[no-any-return]

    def is_symlink(self) -> bool:
        """True for a symbolic link."""
        return self._entry.is_symlink()  # type: ignore[no-any-return]

    def is_junction(self) -> bool:
        """Always false outside of Windows."""
        return False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Returns the metadata, which is read once."""
        known = self._stats.get(follow_symlinks)
        if known is None:
            known = _shown(self._entry.stat(follow_symlinks=follow_symlinks))
            self._stats[follow_symlinks] = known
        return known

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"


class _Scan:
    """The iterator of `os.scandir`."""

    __slots__ = ("_entries", "_is_fd")

    def __init__(self, entries: Any, is_fd: bool) -> None:
        self._entries = entries
        self._is_fd = is_fd

    def __iter__(self) -> Iterator[DirEntry]:
        return self

    def __next__(self) -> DirEntry:
        return DirEntry(next(self._entries), self._is_fd)

    def __enter__(self) -> _Scan:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the folder."""
        self._entries.close()


@wraps(posix.scandir)
def _os_scandir(path=None):  # type: ignore[no-untyped-def]
    if path == "" or path == b"":
        raise _missing(path)
    folder = _folder_of(path)
    return _Scan(_scandir(folder), folder is not path)


@wraps(posix.chdir)
def _os_chdir(path):  # type: ignore[no-untyped-def]
    if path == "" or path == b"":
        raise _missing(path)
    try:
        # The C library only joins the texts: `..` and links would stay in what `getcwd` returns.
        _chdir(os.path.realpath(_folder_of(path), strict=True))
    except OSError as error:
        if not isinstance(path, int):
            error.filename = path
        raise


def fchdir(fd: int) -> None:
    """Changes to an open folder."""
    if isinstance(fd, bool):
        warnings.warn("bool is used as a file descriptor", RuntimeWarning, stacklevel=2)
    _os_chdir(index(fd))


@wraps(posix.pathconf)
def _os_pathconf(path, name):  # type: ignore[no-untyped-def]
    _stat(path)  # the C library does not check that the file exists
    return posix.pathconf(path, name)


@wraps(posix.fpathconf)
def _os_fpathconf(fd, name):  # type: ignore[no-untyped-def]
    _fstat(fd)
    return posix.fpathconf(fd, name)


def dup(fd: int) -> int:
    """Opens a second number for an open file. Both share one position."""
    return _number(_ask(_DUPLICATE, fd, 0))


def dup2(fd: int, fd2: int, inheritable: bool = True) -> int:
    """Makes `fd2` a duplicate of `fd`, and closes it before if it is open."""
    return _number(_ask(_DUPLICATE_TO, fd, fd2))


def dup_from(fd: int, lowest: int) -> int:
    """As `dup`, with the lowest number that may be given: `F_DUPFD`."""
    return _number(_ask(_DUPLICATE, fd, lowest))


def _number(answer: bytes) -> int:
    return int.from_bytes(answer, "little")


def readv(fd: int, buffers: Any) -> int:
    """Reads into several buffers; returns how many bytes were read."""
    return _scatter(buffers, lambda size, _: _read(fd, size))


def preadv(fd: int, buffers: Any, offset: int, flags: int = 0) -> int:
    """As `readv`, at a position of the file."""
    return _scatter(buffers, lambda size, done: _pread(fd, size, offset + done))


def _scatter(buffers: Any, read: Callable[[int, int], bytes]) -> int:
    total = 0
    for buffer in buffers:
        view = memoryview(buffer).cast("B")
        part = read(len(view), total)
        view[: len(part)] = part
        total += len(part)
        if len(part) < len(view):
            break
    return total


def writev(fd: int, buffers: Any) -> int:
    """Writes several buffers one after another; returns how many bytes were written."""
    return _write(fd, b"".join(map(bytes, buffers)))


def pwritev(fd: int, buffers: Any, offset: int, flags: int = 0) -> int:
    """As `writev`, at a position of the file."""
    return _pwrite(fd, b"".join(map(bytes, buffers)), offset)


def posix_fallocate(fd: int, offset: int, length: int) -> None:
    """Makes a file at least as long as this. Unwritten bytes take no space."""
    if offset < 0 or length <= 0:
        raise OSError(EINVAL, posix.strerror(EINVAL))
    if _fstat(fd).st_size < offset + length:
        posix.ftruncate(fd, offset + length)


def sendfile(out_fd: int, in_fd: int, offset: int | None, count: int) -> int:
    """Copies from one open file to another; returns how many bytes were copied."""
    count = min(count, 1 << 20)
    part = _read(in_fd, count) if offset is None else _pread(in_fd, count, offset)
    return _write(out_fd, part) if part else 0


def statvfs(path: Any) -> os.statvfs_result:
    """Returns the free space of the workspace; other files are read-only and have none."""
    if _os_stat(path).st_dev != _WORKSPACE_DEVICE:
        return os.statvfs_result((4096, 4096, 0, 0, 0, 0, 0, 0, 1, 255, 0))
    usage = _Usage()
    size, free = usage.bytes // 4096, (usage.bytes - usage.used_bytes) // 4096
    entries = usage.entries - usage.used_entries
    files = (usage.entries, entries, entries)
    return os.statvfs_result((4096, 4096, size, free, free, *files, 0, 255, 0))


def fstatvfs(fd: int) -> os.statvfs_result:
    """As `statvfs`, for an open file."""
    return statvfs(fd)


def pipe(*_: object) -> tuple[int, int]:
    """Refuses: there is no other process to read or write the other end.

    Raises:
        OSError: Always.
    """
    text = "os.pipe: there are no pipes in the sandbox: use a list, queue.Queue or io.BytesIO"
    raise OSError(EOPNOTSUPP, text)


def sync() -> None:
    """Does nothing: all files are in memory."""


def own(function: Callable[..., Any]) -> Any:
    """Makes a function that does not become a method when it is an attribute of a class.

    The replaced C functions behave so, and `_unlink = os.unlink` in a class is common.
    """
    return staticmethod(function)


def install() -> None:
    """Adds these functions to `os`, and to its sets of supported features."""
    replaced = {
        "stat": _os_stat,
        "lstat": _os_lstat,
        "fstat": _os_fstat,
        "chmod": _os_chmod,
        "mkdir": _os_mkdir,
        "open": _os_open,
        "access": _os_access,
        "listdir": _os_listdir,
        "scandir": _os_scandir,
        "chdir": _os_chdir,
        "pathconf": _os_pathconf,
        "fpathconf": _os_fpathconf,
    }
    for name in ("rmdir", "unlink", "remove", "rename", "replace", "readlink", "symlink", "link"):
        replaced[name] = _refuse_empty(getattr(posix, name))
    for name in ("truncate", "utime"):
        replaced[name] = _refuse_empty(getattr(posix, name))
    features: Any = (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks)
    for name in replaced:
        original, function = getattr(posix, name), own(replaced[name])
        for feature in (*features, os.supports_effective_ids):
            if original in feature:
                feature.add(function)
        setattr(os, name, function)
    os.supports_fd.update((os.chmod, os.listdir, os.scandir, os.chdir))
    os.supports_dir_fd.add(os.chmod)
    os.DirEntry = DirEntry  # type: ignore[misc, assignment]
    added = (
        fchmod, lchmod, chown, fchown, lchown, umask, fchdir, dup, dup2, readv, preadv, writev,
        pwritev, posix_fallocate, sendfile, statvfs, fstatvfs, pipe, sync,
    )  # fmt: skip
    for function in added:
        setattr(os, function.__name__, own(function))
        os.__all__.append(function.__name__)


def forget() -> None:
    """Forgets the files of the process that made the image."""
    _modes.clear()
    _owners.clear()
    del _umasks[1:]
