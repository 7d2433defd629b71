"""Code that runs in place, but apart from the event loop that is running: as in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_tasks: Any = asyncio.tasks


@contextmanager
def apart() -> Iterator[None]:
    """Lets no loop run and no task be under way, so that a loop can be started. Afterwards they go on."""
    outer = asyncio._get_running_loop()
    if outer is None:
        yield
        return
    task = asyncio.current_task(outer)
    if task is not None:
        _tasks._leave_task(outer, task)
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(outer)
        if task is not None:
            _tasks._enter_task(outer, task)
