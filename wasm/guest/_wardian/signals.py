"""Signals that a program sends to itself, those of its timer, and the interruption of a cell by its
caller or at its time limit. Nobody else sends any.

A handler of the program is called as natively. Without one, most signals end the program, which the
host reports with the name of the signal; the C library of the engine would abort the interpreter.
"""

from __future__ import annotations

import _signal
import errno
import math
import operator
import os
import posix
import sys
from collections.abc import Callable
from typing import Any

from _wardian import clock, timers

_SIGNALLED = 0x57534700
"""Exit codes from here on are numbers of signals; as `SIGNALLED` in the host's `ending.rs`."""

_LAST = 64
_KILL, _STOP, _ABORT, _FLOATING, _SEGMENT = 9, 19, 6, 8, 11
_OF_THE_C_LIBRARY = frozenset({32, 33})
_IGNORED = frozenset({17, 18, 23, 28})
"""SIGCHLD, SIGCONT, SIGURG and SIGWINCH do nothing by default."""

_REAL, _VIRTUAL, _PROFILING = range(3)

INTERRUPT = 2

_NO_SIGNALS = "no signal arrives here but that of signal.alarm and signal.setitimer"
_NO_SUCH_TIMER = (
    "the sandbox has one timer: use signal.ITIMER_REAL or signal.alarm, or set `timeout_ms`"
)

_plain = _signal.raise_signal
_set_handler, _get_handler = _signal.signal, _signal.getsignal
_exit = posix._exit

set_handler, get_handler = _set_handler, _get_handler
"""The interpreter's own functions, which know only what is really set."""

is_raised_here = False
"""True while a handler runs for a signal that the program has sent to itself."""

end_child: Callable[[int], None] | None = None
"""Ends a child process with this exit code, a negative one for a signal. `None` if no child runs."""


def end(number: int) -> Any:
    """Ends the program at once, as a signal does: no handler and no `finally` runs."""
    if end_child is not None:
        end_child(-number)
    _exit(_SIGNALLED + number)


def leave(status: int) -> Any:
    """Replaces `os._exit`."""
    status = operator.index(status)
    if end_child is not None:
        end_child(status & 0xFF)
    _exit(status)


def raise_signal(signalnum: Any, /) -> None:
    """Sends a signal to this process."""
    global is_raised_here
    number = operator.index(signalnum)
    if not 0 < number <= _LAST:
        if number:
            raise OSError(errno.EINVAL, "Invalid argument")
        return
    handler = getsignal(number)
    if number not in (_KILL, _STOP) and callable(handler):
        is_raised_here = True
        try:
            _plain(number)
        finally:
            is_raised_here = False
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
    for name, function in (("abort", _abort), ("killpg", _kill_group), ("_exit", leave)):
        function.__name__ = function.__qualname__ = name
        setattr(module, name, function)


def patch_signal(module: Any) -> None:
    """Sends signals to this process, at once or by the timer."""
    module.raise_signal = _signal.raise_signal = raise_signal
    _signal.signal, _signal.getsignal = signal, getsignal
    for name, value in (
        ("ITIMER_REAL", _REAL), ("ITIMER_VIRTUAL", _VIRTUAL), ("ITIMER_PROF", _PROFILING)
    ):  # fmt: skip
        setattr(module, name, value)
    module.ItimerError = _signal.ItimerError = ItimerError  # type: ignore[attr-defined]

    for function in (alarm, setitimer, getitimer, pause, siginterrupt, valid_signals):
        setattr(module, function.__name__, function)
    module.sigwait = _refusing("sigwait")


class ItimerError(OSError):
    """A timer cannot be set so."""


ItimerError.__module__ = "signal"
ItimerError.__name__ = ItimerError.__qualname__ = "itimer_error"


# The handlers of the two signals that the host sends. The interpreter would complain of a signal
# without a handler, so these always have one: the program's, or one of these in the place of the two
# numbers.


def _end_by_signal(signalnum: int, frame: object) -> None:
    end(signalnum)


def _ignore_signal(signalnum: int, frame: object) -> None:
    """Nothing happens."""


_STAND_INS: dict[int, Any] = {
    int(_signal.SIG_DFL): _end_by_signal,
    int(_signal.SIG_IGN): _ignore_signal,
}
"""In the place of SIG_DFL and SIG_IGN."""

_SENT_BY_HOST = frozenset({INTERRUPT, timers.ALARM})


def _shown(handler: Any) -> Any:
    for number, stand_in in _STAND_INS.items():
        if handler is stand_in:
            return number
    return handler


def signal(signalnum: Any, handler: Any, /) -> Any:
    """Sets the handler of a signal, and returns the one before."""
    if signalnum in _SENT_BY_HOST and type(handler) is int:
        handler = _STAND_INS.get(handler, handler)
    return _shown(_set_handler(signalnum, handler))


def getsignal(signalnum: Any, /) -> Any:
    """Returns the handler of a signal."""
    return _shown(_get_handler(signalnum))


# While no cell runs, and while its end is reported, an interruption must change nothing.


def _hold_signal(signalnum: int, frame: object) -> None:
    """The cell has ended, or has not begun. The host interrupts one that goes on once more."""


_handler_of_program: Any = None


def allow_interrupts() -> None:
    """Lets an interruption call the handler of the program: a cell begins."""
    if _handler_of_program is not None:
        _set_handler(INTERRUPT, _handler_of_program)


def hold_interrupts() -> None:
    """Ignores interruptions until the next cell begins.

    Raises:
        BaseException: One that came before. The next call succeeds.
    """
    global _handler_of_program
    handler = _get_handler(INTERRUPT)
    if handler is not _hold_signal:
        _handler_of_program = handler if callable(handler) else _signal.default_int_handler
        _set_handler(INTERRUPT, _hold_signal)


def _set_timer(seconds: float, interval: float) -> tuple[float, float]:
    handler: Any = _get_handler(timers.ALARM)
    if seconds and not callable(handler):
        _set_handler(timers.ALARM, _STAND_INS[int(handler or _signal.SIG_DFL)])
    return timers.set_timer(seconds, interval)


def alarm(seconds: int, /) -> int:
    """Arranges for SIGALRM in so many seconds; returns those that an earlier alarm had left."""
    left, _ = _set_timer(float(operator.index(seconds) & 0xFFFFFFFF), 0.0)
    return max(1, int(left + 0.5)) if left else 0


def setitimer(which: int, seconds: float, interval: float = 0.0, /) -> tuple[float, float]:
    """Sets the timer; returns what `getitimer` has returned before."""
    which, seconds, interval = operator.index(which), _checked(seconds), _checked(interval)
    if which == _REAL:
        return _set_timer(seconds, interval)
    _check_kind(which)
    if seconds:
        raise OSError(errno.ENOSYS, f"signal.setitimer: {_NO_SUCH_TIMER}")
    return 0.0, 0.0


def getitimer(which: int, /) -> tuple[float, float]:
    """Returns the seconds until the next signal, and those from each to the next."""
    which = operator.index(which)
    _check_kind(which)
    return timers.rest() if which == _REAL else (0.0, 0.0)


def _check_kind(which: int) -> None:
    if which not in (_REAL, _VIRTUAL, _PROFILING):
        raise ItimerError(errno.EINVAL, "Invalid argument")


def _checked(seconds: Any) -> float:
    seconds = seconds if isinstance(seconds, float) else operator.index(seconds)
    if math.isnan(seconds):
        raise ValueError("Invalid value NaN (not a number)")
    if seconds < 0:
        raise ItimerError(errno.EINVAL, "Invalid argument")
    return math.ceil(seconds * 1e6) / 1e6 if seconds < 1e9 else seconds


def valid_signals() -> set[Any]:
    """Returns the signals of Linux."""
    numbers = set(range(1, _LAST + 1)) - _OF_THE_C_LIBRARY
    return {_as_member(number) for number in numbers}


def _as_member(number: int) -> Any:
    kind: Any = getattr(sys.modules.get("signal"), "Signals", int)
    try:
        return kind(number)
    except ValueError:
        return number


def siginterrupt(signalnum: int, flag: bool, /) -> None:
    """Accepts whether a signal ends waits early: Python begins them again in any case."""
    if not 0 < operator.index(signalnum) <= _LAST:
        raise OSError(errno.EINVAL, "Invalid argument")


def pause() -> None:
    """Waits for the next signal of the timer."""
    if not timers.wait(clock.sleep):
        raise OSError(errno.ENOSYS, f"signal.pause: {_NO_SIGNALS}")


for _function in (
    signal, getsignal, alarm, setitimer, getitimer, pause, siginterrupt, valid_signals
):  # fmt: skip
    _function.__module__ = "_signal" if _function in (signal, getsignal) else "signal"


def _refusing(name: str) -> Callable[..., Any]:
    def refuse(*args: Any) -> Any:
        raise OSError(errno.ENOSYS, f"signal.{name}: {_NO_SIGNALS}")

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
