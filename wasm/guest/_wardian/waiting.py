"""Waiting for other threads, in a world that has none.

The lock under `threading.Condition` cannot wait in WASI: the interpreter would abort. Nobody could
ever notify a condition here, so waiting for one is sleeping, and without a timeout a mistake.
With conditions come events, semaphores, barriers, queues and futures, which are made of them.
"""

from __future__ import annotations

import threading
import time

_sleep = time.sleep


def install() -> None:
    """Lets conditions wait as they can here."""
    threading.Condition.wait = _wait  # type: ignore[method-assign]


def _wait(self: threading.Condition, timeout: float | None = None) -> bool:
    """Sleeps for `timeout` seconds; always false, since nobody notifies.

    Raises:
        RuntimeError: The caller does not hold the lock, or there is no timeout: it would wait for
            ever.
    """
    if not self._is_owned():  # type: ignore[attr-defined]
        raise RuntimeError("cannot wait on un-acquired lock")
    if timeout is None:
        raise RuntimeError(
            "this program waits for ever: no other thread can go on "
            "(there are no threads in the sandbox)"
        )
    if timeout > 0:
        _sleep(timeout)
    return False
