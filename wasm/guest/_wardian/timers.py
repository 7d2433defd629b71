"""The timer of SIGALRM. The host runs it, and interrupts a program that computes.

A program that waits in a call of the host is not interrupted there. It waits until its signal is
due at most, takes the signal, and calls the handler itself.
"""

from __future__ import annotations

import _signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from _wardian import door

ALARM = 14

_OPERATION = b"\x0d"
_GET, _SET, _TAKE = (_OPERATION + bytes([number]) for number in range(3))
_LONGEST = (1 << 63) - 1

_now = time.monotonic
_getframe = sys._getframe
_handler_of = _signal.getsignal

is_used = False
"""True once the program has set the timer. It may have run out since."""


def rest() -> tuple[float, float]:
    """Returns the seconds until the next signal and those of the interval, zeros for no timer."""
    return _seconds(door.ask(_GET)) if is_used else (0.0, 0.0)


def set_timer(seconds: float, interval: float) -> tuple[float, float]:
    """Sets the timer, or ends it if `seconds` are zero. Returns what `rest` has returned before."""
    global is_used
    if not seconds and not is_used:
        return 0.0, 0.0
    request = _SET + _nanoseconds(seconds) + _nanoseconds(interval)
    before = _seconds(door.ask(request))
    is_used = True
    return before


def end() -> None:
    """Ends the timer with its program."""
    if is_used:
        set_timer(0.0, 0.0)


def forget() -> None:
    """Forgets the timer of a run; for rehearsals and tests."""
    global is_used
    is_used = False


def _nanoseconds(seconds: float) -> bytes:
    return min(round(seconds * 1e9), _LONGEST).to_bytes(8, "little")


def _seconds(answer: bytes) -> tuple[float, float]:
    first, second = answer[:8], answer[8:16]
    return int.from_bytes(first, "little") / 1e9, int.from_bytes(second, "little") / 1e9


def call_if_due() -> None:
    """Calls the handler if a signal is due and the host has not interrupted the program for it."""
    if is_used and door.ask(_TAKE) == b"\1":
        handler: Any = _handler_of(ALARM)
        if callable(handler):
            handler(ALARM, _frame_of_program())


def _frame_of_program() -> FrameType | None:
    frame: FrameType | None = _getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith("<wardian>/"):
        frame = frame.f_back
    return frame


def parts(seconds: float | None) -> Iterator[tuple[float | None, bool]]:
    """Divides a time to wait at the signals that are due meanwhile.

    Yields times that can be waited for, and whether each is the last. Between them the handler is
    called, which may raise. `None` waits without end.
    """
    stop = None if seconds is None else _now() + seconds
    while True:
        left = None if stop is None else max(stop - _now(), 0.0)
        until = rest()[0]
        if not until or (left is not None and left < until):
            yield left, True
            return
        yield until, False
        call_if_due()


def wait(sleep: Callable[[float], object]) -> bool:
    """Sleeps until the next signal and calls its handler. False if none will come."""
    until = rest()[0]
    if not until:
        return False
    sleep(until)
    call_if_due()
    return True
