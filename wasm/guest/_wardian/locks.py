"""The module `fcntl`: flags of descriptors and locks of files, within one process.

There is no other process, so a lock of a process (`lockf`, `F_SETLK`) always succeeds. A lock of an
open file (`flock`) can be held by another descriptor of the same program; waiting for that lock
would never end.
"""

from __future__ import annotations

import os
import posix
import sys
from errno import EAGAIN, EBADF, EDEADLK, EINVAL, ENOTTY
from types import ModuleType
from typing import Any

from _wardian import files

LOCK_SH, LOCK_EX, LOCK_NB, LOCK_UN = 1, 2, 4, 8
F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL = 0, 1, 2, 3, 4
F_GETLK, F_SETLK, F_SETLKW = 5, 6, 7
F_RDLCK, F_WRLCK, F_UNLCK = 0, 1, 2
F_DUPFD_CLOEXEC = 1030
FD_CLOEXEC = 1

_held: dict[tuple[int, int], dict[int, int]] = {}
"""The descriptors that hold a lock of each locked file, with the kind of lock."""


def _number(fd: Any) -> int:
    if isinstance(fd, int):
        number = fd
    elif hasattr(fd, "fileno"):
        number = fd.fileno()
    else:
        raise TypeError("argument must be an int, or have a fileno() method.")
    if number < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({number})")
    return int(number)


def _file(fd: int) -> tuple[int, int]:
    found = posix.fstat(fd)
    return found.st_dev, found.st_ino


def flock(fd: Any, operation: int) -> None:
    """Locks an open file, or releases its lock.

    Raises:
        BlockingIOError: Another descriptor holds it, and `LOCK_NB` is set.
        OSError: Another descriptor holds it, so waiting would never end.
    """
    number = _number(fd)
    file = _file(number)
    wanted = operation & ~LOCK_NB
    holders = _held.setdefault(file, {})
    if wanted == LOCK_UN:
        holders.pop(number, None)
        return
    if wanted not in (LOCK_SH, LOCK_EX):
        raise OSError(EINVAL, posix.strerror(EINVAL))
    for other in [other for other in holders if not _is_open_on(other, file)]:
        del holders[other]
    others = [kind for other, kind in holders.items() if other != number]
    if others and (wanted == LOCK_EX or LOCK_EX in others):
        if operation & LOCK_NB:
            raise BlockingIOError(EAGAIN, posix.strerror(EAGAIN))
        raise OSError(
            EDEADLK,
            "this program waits for ever: it holds the lock of this file itself, through another "
            "descriptor",
        )
    holders[number] = wanted


def _is_open_on(fd: int, file: tuple[int, int]) -> bool:
    try:
        return _file(fd) == file
    except OSError:
        return False


def lockf(fd: Any, cmd: int, len: int = 0, start: int = 0, whence: int = 0) -> None:
    """Locks a part of a file against other processes. There are none, so it always succeeds."""
    _file(_number(fd))
    if cmd & ~LOCK_NB not in (LOCK_SH, LOCK_EX, LOCK_UN):
        raise ValueError("unrecognized lockf argument")


def fcntl(fd: Any, cmd: int, arg: Any = 0) -> Any:
    """Queries or changes a descriptor.

    Raises:
        OSError: There is no such descriptor, or the command is not supported.
    """
    number = _number(fd)
    _file(number)
    if cmd in (F_DUPFD, F_DUPFD_CLOEXEC):
        return files.dup_from(number, arg)
    if cmd == F_GETFD:
        return FD_CLOEXEC
    if cmd == F_GETFL:
        return 0 if posix.get_blocking(number) else os.O_NONBLOCK
    if cmd == F_SETFL:
        posix.set_blocking(number, not arg & os.O_NONBLOCK)
        return 0
    if cmd in (F_SETFD, F_SETLK, F_SETLKW):
        return arg if isinstance(arg, bytes) else 0
    raise OSError(EINVAL, posix.strerror(EINVAL))


def ioctl(fd: Any, request: int, arg: Any = 0, mutate_flag: bool = True) -> Any:
    """Refuses: no open file is a terminal or a device with settings.

    Raises:
        OSError: Always.
    """
    try:
        _file(_number(fd))
    except OSError:
        raise OSError(EBADF, posix.strerror(EBADF)) from None
    raise OSError(ENOTTY, posix.strerror(ENOTTY))


def install() -> None:
    """Makes the module `fcntl` importable, and gives `os` its `lockf`."""
    module: Any = ModuleType("fcntl", "Flags of descriptors and locks of files.")
    for name, value in globals().items():
        if name.isupper() or value in (flock, lockf, fcntl, ioctl):
            setattr(module, name, value)
    sys.modules["fcntl"] = module
    os.lockf = lambda fd, cmd, length: _os_lockf(fd, cmd)  # type: ignore[attr-defined]


def _os_lockf(fd: int, cmd: int) -> None:
    _file(fd)
    if cmd not in (os.F_LOCK, os.F_TLOCK, os.F_ULOCK, os.F_TEST):
        raise OSError(EINVAL, posix.strerror(EINVAL))
