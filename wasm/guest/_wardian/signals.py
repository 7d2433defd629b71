"""Signals that a program sends to itself. Nobody else sends any.

A handler of the program is called as natively. Without one, most signals end the program, which the
host reports with the name of the signal; the C library of the engine would abort the interpreter.
"""

from __future__ import annotations

import _signal
import errno
import operator
import os
import posix
from collections.abc import Callable
from typing import Any

_SIGNALLED = 0x57534700
"""Exit codes from here on are numbers of signals; as `SIGNALLED` in the host's `ending.rs`."""

_LAST = 64
_KILL, _STOP, _ABORT, _FLOATING, _SEGMENT = 9, 19, 6, 8, 11
_IGNORED = frozenset({17, 18, 23, 28})
"""SIGCHLD, SIGCONT, SIGURG and SIGWINCH do nothing by default."""

_NO_TIMER = "no signals arrive in the sandbox: set `timeout_ms`, or look at time.monotonic()"

_plain = _signal.raise_signal
_exit = posix._exit


def end(number: int) -> Any:
    """Ends the program at once, as a signal does: no handler and no `finally` runs."""
    _exit(_SIGNALLED + number)


def raise_signal(signalnum: Any, /) -> None:
    """Sends a signal to this process."""
    number = operator.index(signalnum)
    if not 0 < number <= _LAST:
        if number:
            raise OSError(errno.EINVAL, "Invalid argument")
        return
    handler = _signal.getsignal(number)
    if number not in (_KILL, _STOP) and callable(handler):
        _plain(number)
    elif number in (_KILL, _STOP) or handler in (_signal.SIG_DFL, None):
        if number not in _IGNORED:
            end(number)


def _abort() -> None:
    """Ends the program with SIGABRT."""
    end(_ABORT)


def _kill_group(pgid: int, signalnum: int, /) -> None:
    """Sends a signal to the group of this process, which has no other member."""
    if pgid not in (0, os.getpid()):
        raise ProcessLookupError(errno.ESRCH, "No such process")
    raise_signal(signalnum)


def patch_os(module: Any) -> None:
    """Lets a program end itself as natively."""
    for name, function in (("abort", _abort), ("killpg", _kill_group)):
        function.__name__ = function.__qualname__ = name
        setattr(module, name, function)


def patch_signal(module: Any) -> None:
    """Sends signals to this process; refuses timers, whose signals would never arrive."""
    module.raise_signal = _signal.raise_signal = raise_signal
    for name, value in (("ITIMER_REAL", 0), ("ITIMER_VIRTUAL", 1), ("ITIMER_PROF", 2)):
        setattr(module, name, value)

    def alarm(seconds: int, /) -> int:
        if seconds:
            raise OSError(errno.ENOSYS, f"signal.alarm: {_NO_TIMER}")
        return 0  # there was no alarm to cancel

    def setitimer(which: int, seconds: float, interval: float = 0.0, /) -> tuple[float, float]:
        if seconds:
            raise OSError(errno.ENOSYS, f"signal.setitimer: {_NO_TIMER}")
        return 0.0, 0.0

    def getitimer(which: int, /) -> tuple[float, float]:
        return 0.0, 0.0

    for function in (alarm, setitimer, getitimer):
        function.__module__ = "signal"
        setattr(module, function.__name__, function)
    for name in ("pause", "sigwait"):
        setattr(module, name, _refusing(name))


def _refusing(name: str) -> Callable[..., Any]:
    def refuse(*args: Any) -> Any:
        raise OSError(errno.ENOSYS, f"signal.{name}: {_NO_TIMER}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__module__ = "signal"
    return refuse


def patch_faulthandler(module: Any) -> None:
    """The functions that crash an interpreter end the program as the signal would."""
    for name, number in (
        ("_sigabrt", _ABORT),
        ("_sigfpe", _FLOATING),
        ("_sigsegv", _SEGMENT),
        ("_read_null", _SEGMENT),
        ("_fatal_error_c_thread", _ABORT),
    ):
        if hasattr(module, name):
            setattr(module, name, lambda *args, number=number: end(number))
