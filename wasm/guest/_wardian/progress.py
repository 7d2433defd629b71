"""Tells the caller how far the program is."""

from __future__ import annotations

import math
import struct
from typing import Any

from _wardian import door

_MAX_MESSAGE = 512  # as the host keeps


def progress(done: float, total: float | None = None, message: object = "") -> None:
    """Tells how much is done, of how much if that is known, and what the program does now.

        for number, file in enumerate(files):
            progress(number, len(files), f"reading {file}")

    A caller that reads along sees some twenty reports a second; calls in between cost little.
    Others see nothing of it.

    Raises:
        TypeError: `done` or `total` is no number.
        ValueError: `done` is negative or not finite.
    """
    share = float(done)
    if not math.isfinite(share) or share < 0:
        raise ValueError(f"done must be a number from 0 on, not {done!r}")
    whole = math.nan if total is None else float(total)
    text = str(message).encode("utf-8", "replace")[:_MAX_MESSAGE]
    door.ask(door.PROGRESS + struct.pack("<dd", share, whole) + text)


def amend_tqdm(module: Any) -> None:
    """Every bar of tqdm that is drawn is told, too. Bars have no thread that watches over them: it
    would run beside the program for as long as the program does."""
    module.tqdm.monitor_interval = 0
    display = module.tqdm.display

    def told(self: Any, msg: Any = None, pos: Any = None) -> Any:
        shown = display(self, msg, pos)
        try:
            progress(max(self.n, 0), self.total, self.desc or "")
        except (TypeError, ValueError):
            pass  # counts that are no numbers
        return shown

    told.__doc__ = display.__doc__
    module.tqdm.display = told


def amend_rich_live(module: Any) -> None:
    """Displays of rich are drawn by the calls that change them, and not by a thread beside the
    program. Bars are told too, whenever they are drawn."""
    begin = module.Live.__init__

    def __init__(self: Any, *args: Any, **named: Any) -> None:
        begin(self, *args, **{**named, "auto_refresh": False})

    __init__.__doc__ = begin.__doc__
    module.Live.__init__ = __init__


def amend_rich_progress(module: Any) -> None:
    """A bar that advances is told."""
    update, proceed = module.Progress.update, module.Progress.advance

    def tell(bars: Any, number: Any) -> None:
        task = bars._tasks.get(number)
        if task is None:
            return
        try:
            progress(max(task.completed, 0), task.total, task.description)
        except (TypeError, ValueError):
            pass  # counts that are no numbers

    def updated(self: Any, task_id: Any, **named: Any) -> None:
        update(self, task_id, **named)
        tell(self, task_id)

    def advanced(self: Any, task_id: Any, advance: float = 1) -> None:
        proceed(self, task_id, advance)
        tell(self, task_id)

    updated.__doc__, advanced.__doc__ = update.__doc__, proceed.__doc__
    module.Progress.update, module.Progress.advance = updated, advanced
