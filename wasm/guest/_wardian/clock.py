"""Processor time: the time since the start of the run, without the time that was slept.

The C library has no clock for it and returns the elapsed time. A run has one thread, so the times
of the process and of the thread are equal.
"""

from __future__ import annotations

import time

from _wardian import timers

_sleep, _now = time.sleep, time.monotonic
_START = 3600.0
"""The start of the monotonic clock in every run."""

_slept = 0.0


def sleep(seconds: float) -> None:
    """Sleeps, and notes the time. Signals of the timer that are due meanwhile are handled."""
    global _slept
    start = _now()
    try:
        if timers.is_used and isinstance(seconds, (int, float)) and seconds >= 0:
            for part, _ in timers.parts(seconds):
                _sleep(part)  # type: ignore[arg-type]
            timers.call_if_due()
        else:
            _sleep(seconds)
    finally:
        _slept += _now() - start


def add_slept(seconds: float) -> None:
    """Notes time that passed while the host waited for something in this run's place."""
    global _slept
    _slept += seconds


def process_time() -> float:
    """Returns the processor time that this run has used, in seconds."""
    return max(0.0, _now() - _START - _slept)


def process_time_ns() -> int:
    """Returns the processor time that this run has used, in nanoseconds."""
    return round(process_time() * 1000) * 1_000_000


def forget() -> None:
    """Forgets what the process that made the image has slept."""
    global _slept
    _slept = 0.0


def install() -> None:
    """Adds the clocks to `time`; `threads` replaces `time.sleep`."""
    for name in ("process_time", "thread_time"):
        setattr(time, name, process_time)
        setattr(time, f"{name}_ns", process_time_ns)
    get_clock_info = time.get_clock_info

    def clock_info(name: str) -> object:
        return get_clock_info("process_time" if name == "thread_time" else name)

    clock_info.__name__ = clock_info.__qualname__ = "get_clock_info"
    time.get_clock_info = clock_info  # type: ignore[assignment]
