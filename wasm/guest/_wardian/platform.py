"""The machine and its user in the view of a program: those of a small container.

Nothing here is a fact about the host. `sys.platform` stays `wasi`, because the standard library
derives the features of the interpreter from it. `os.uname` and `platform` return `Linux`, because
programs derive their behaviour from them.
"""

from __future__ import annotations

import _locale
import _signal
import locale
import os
import posix
import shutil
import sys
import time
from errno import ECHILD, ENOTTY, ENXIO, EPERM, ESRCH
from typing import Any, NamedTuple

from _wardian import clock, derive, files, locks, places, processes

_UNAME = ("Linux", "sandbox", "0.0.0", "#1", "wasm32")
_PROCESS = posix.getpid()
_PROCESS_MAX = 1 << 22  # the largest number of a process on Linux
_LOCALES = {"C": "C", "POSIX": "C", "C.UTF-8": "C.UTF-8", "C.UTF8": "C.UTF-8"}
_CATEGORIES = (
    ("LC_CTYPE", _locale.LC_CTYPE),
    ("LC_NUMERIC", _locale.LC_NUMERIC),
    ("LC_TIME", _locale.LC_TIME),
    ("LC_COLLATE", _locale.LC_COLLATE),
    ("LC_MONETARY", _locale.LC_MONETARY),
    ("LC_MESSAGES", _locale.LC_MESSAGES),
)
_locales: dict[int, str] = {number: "C" for _, number in _CATEGORIES}
_locales[_locale.LC_CTYPE] = "C.UTF-8"
_set_of_c = _locale.setlocale  # the C library's own, which knows `C` and `C.UTF-8`


def setlocale(category: int, name: str | None = None) -> str:
    """Sets or returns the locale of a category: `C`, `POSIX` or `C.UTF-8`.

    Raises:
        locale.Error: There is no data for that locale, or no such category.
    """
    wanted = [number for _, number in _CATEGORIES if category in (number, _locale.LC_ALL)]
    if not wanted:
        raise locale.Error("unsupported locale setting")
    if name is not None:
        _locales.update({number: _known_locale(number, name) for number in wanted})
        _set_of_c(_locale.LC_CTYPE, _locales[_locale.LC_CTYPE])
    found = [_locales[number] for number in wanted]
    if all(other == found[0] for other in found):
        return found[0]
    return ";".join(f"{label}={_locales[number]}" for label, number in _CATEGORIES)


def _known_locale(category: int, name: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"setlocale() argument 2 must be str or None, not {type(name).__name__}")
    label = next(label for label, number in _CATEGORIES if number == category)
    if "=" in name:  # what `setlocale` itself returned
        parts = dict(part.partition("=")[::2] for part in name.split(";"))
        name = parts.get(label, "")
    elif not name:
        environment = os.environ
        name = environment.get("LC_ALL") or environment.get(label) or environment.get("LANG") or "C"
    known = _LOCALES.get(name) or _LOCALES.get(name.upper())
    if known is None:
        raise locale.Error("unsupported locale setting")
    return known


def uname() -> os.uname_result:
    """Returns the name of the system."""
    return os.uname_result(_UNAME)


def _times() -> os.times_result:
    return os.times_result((clock.process_time(), 0.0, 0.0, 0.0, time.monotonic()))


def _set_id(*wanted: int) -> None:
    """There is only one user and one group: number zero."""
    if any(files.identifier(number, "id") not in (0, -1) for number in wanted):
        raise PermissionError(EPERM, posix.strerror(EPERM))


def _kill(pid: int, signal_number: int) -> None:
    """Sends a signal to this process, the only one that there is."""
    if pid not in (_PROCESS, 0):
        raise ProcessLookupError(ESRCH, posix.strerror(ESRCH))
    if signal_number:
        _signal.raise_signal(signal_number)


def _own_process(pid: int = 0) -> int:
    if pid not in (_PROCESS, 0):
        raise ProcessLookupError(ESRCH, posix.strerror(ESRCH))
    return _PROCESS


def present_process() -> int:
    """The number of the process that runs."""
    return _PROCESS


def set_process(number: int) -> None:
    """Makes another process the one that runs: a child, or its parent once more."""
    global _PROCESS
    _PROCESS = number


def change_process(seed: int) -> None:
    """Gives the process another number, which follows from `seed`.

    Several children of one state know nothing of each other, so none of them can count on.
    """
    global _PROCESS
    mixed = seed * 0x9E3779B97F4A7C15 % (1 << 64) >> 32
    number = 2 + mixed % (_PROCESS_MAX - 2)
    if number == _PROCESS:
        number = 2 + (number - 1) % (_PROCESS_MAX - 2)
    _PROCESS = number

    def getpid() -> int:
        return number

    getpid.__module__ = "posix"
    os.getpid = getpid


def _wait(*args: Any, **named: Any) -> None:
    """No child can be waited for in this way."""
    raise ChildProcessError(ECHILD, posix.strerror(ECHILD))


def _get_login() -> str:
    raise OSError(ENXIO, posix.strerror(ENXIO))


def _get_terminal_size(fd: int = 1) -> os.terminal_size:
    posix.fstat(fd)
    raise OSError(ENOTTY, posix.strerror(ENOTTY))


def _get_load_average() -> tuple[float, float, float]:
    raise OSError("Load averages are unobtainable")


def _get_random(size: int, flags: int = 0) -> bytes:
    return posix.urandom(size)


def _sysconf(name: str | int) -> int:
    number = os.sysconf_names.get(name) if isinstance(name, str) else name
    if number in (os.sysconf_names["SC_PHYS_PAGES"], os.sysconf_names.get("SC_AVPHYS_PAGES")):
        return -1  # unknown: the memory limit of the run is set by the host
    return posix.sysconf(name)


def _nice(increment: int) -> int:
    return 0


_OS_FUNCTIONS: dict[str, Any] = {
    "uname": uname,
    "times": _times,
    "sysconf": _sysconf,
    "kill": _kill,
    "nice": _nice,
    "getlogin": _get_login,
    "get_terminal_size": _get_terminal_size,
    "getloadavg": _get_load_average,
    "getrandom": _get_random,
    "getppid": lambda: 1,
    "getpgrp": lambda: _PROCESS,
    "getpgid": _own_process,
    "getsid": _own_process,
    "getgroups": lambda: [0],
    "getresuid": lambda: (0, 0, 0),
    "getresgid": lambda: (0, 0, 0),
    "sched_getaffinity": lambda pid: {0} if _own_process(pid) else set(),
}
_OS_FUNCTIONS["wait"], _OS_FUNCTIONS["waitpid"] = processes.wait, processes.waitpid
for _name in ("waitid", "wait3", "wait4"):
    _OS_FUNCTIONS[_name] = _wait
for _name in ("getuid", "geteuid", "getgid", "getegid"):
    _OS_FUNCTIONS[_name] = lambda: 0
for _name in ("setuid", "seteuid", "setgid", "setegid", "setreuid", "setregid"):
    _OS_FUNCTIONS[_name] = _set_id


def _tzset() -> None:
    """Accepts the value UTC of `TZ`.

    Raises:
        NotImplementedError: `TZ` is another zone; the C library supports only UTC.
    """
    zone = os.environ.get("TZ", "").removeprefix(":")
    if zone.upper() not in ("", "UTC", "UTC0", "GMT", "GMT0", "ETC/UTC", "ETC/GMT", "ZULU"):
        raise NotImplementedError(
            f"local time is UTC here, `TZ={zone}` cannot change it; "
            "use `datetime.now(zoneinfo.ZoneInfo(...))`"
        )


def install() -> None:
    """Adds the missing functions to the modules of the standard library."""
    clock.install()
    derive.install()
    files.install()
    locks.install()
    for name, function in _OS_FUNCTIONS.items():
        if function.__name__.startswith(("_", "<")):
            function.__name__ = function.__qualname__ = name
        setattr(os, name, files.own(function))
        if name not in os.__all__:
            os.__all__.append(name)
    os.GRND_NONBLOCK, os.GRND_RANDOM = 1, 2  # type: ignore[attr-defined]
    time.tzset = _tzset
    _set_of_c(_locale.LC_CTYPE, _locales[_locale.LC_CTYPE])  # for `open(encoding="locale")`
    _locale.setlocale = locale._setlocale = setlocale  # type: ignore[attr-defined]
    sys.executable = places.INTERPRETER
    sys._base_executable = places.INTERPRETER  # type: ignore[attr-defined]
    _complete_imported()


def _complete_imported() -> None:
    """Adds names to modules that were imported before these functions existed."""
    if not hasattr(shutil, "disk_usage"):
        shutil._ntuple_diskusage = _DiskUsage  # type: ignore[attr-defined]
        shutil.disk_usage = _disk_usage
        shutil.__all__.append("disk_usage")
    machine: Any = sys.modules.get("platform")
    if machine is not None:
        machine._uname_cache = None
    for module in list(sys.modules.values()):
        for missing in ("pwd", "grp"):
            if getattr(module, missing, module) is None:
                setattr(module, missing, sys.modules[missing])


class _DiskUsage(NamedTuple):
    total: int
    used: int
    free: int


_DiskUsage.__name__ = _DiskUsage.__qualname__ = "usage"


def _disk_usage(path: Any) -> _DiskUsage:
    """Returns the space of the workspace, in bytes."""
    found = files.statvfs(path)
    total, free = found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize
    return _DiskUsage(total, total - free, free)
