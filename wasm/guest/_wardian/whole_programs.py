"""A whole program whose caller has tools: a run like any other, which may wait for its caller.

It is the only cell of its guest. Its parts that await something run as tasks of one event loop, so that the
native stack is empty where the program waits and the host can copy the memory: see `cells`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Generator
from typing import Any

from _wardian import (
    asking,
    called_tools,
    cells,
    conversion,
    figures,
    runner,
    script,
    threads,
    timers,
)

_modules = sys.modules
_cancel_all: Any = asyncio.runners._cancel_all_tasks  # type: ignore[attr-defined]


class WholeProgram(cells.Session):
    """The program, from its module to the value of its entrypoint."""

    def __init__(self) -> None:
        super().__init__()
        self.has_displays = False
        self._steps: Generator[Awaitable[Any], Any, tuple[Any, bool]] | None = None
        self._is_over = True

    def report_of(self, job: dict[str, Any]) -> bytes:
        """Runs the program, or goes on with it, and returns the report of its value or of its requests."""
        self._is_over = True
        answers = job["cell"].get("answers")
        ended: Any
        try:
            if self._steps is None:
                self._steps = runner.in_steps(job, {"tools": called_tools.root})
                ended = self._advance(None, None)
            else:
                asking.settle(answers or (), self._task)
                ended = self._await()
        finally:
            self.module = _modules.get("__main__", self.module)
        if ended is cells.WAITS:
            self._is_over = False
            timers.end()
            return asking.round_of(self.loop)
        value, is_last = ended
        if is_last and not job["strict_output"]:
            script.show_table(value)
        threads.finish()
        timers.end()
        report = conversion.shown if is_last else conversion.returned
        encoded = report(value, job["strict_output"])
        if job["program"].get("code") is not None:
            figures.save_open()
        return encoded

    def leave(self) -> None:
        """Runs the exit handlers of a program that has ended, and ends what does not last."""
        if self._is_over:
            try:
                threads.finish()
            except BaseException:
                pass
            runner.finish()
        super().leave()

    def _advance(self, value: Any, error: BaseException | None) -> Any:
        """Goes on with the program after something that it has awaited."""
        steps = self._steps
        if steps is None:
            raise RuntimeError("no program waits for its caller")
        try:
            awaitable = steps.send(value) if error is None else steps.throw(error)
        except StopIteration as end:
            return end.value
        except RuntimeError as error:
            cause = error.__cause__
            if isinstance(cause, StopIteration) and "generator raised" in str(error):
                raise cause.with_traceback(cause.__traceback__) from None
            raise
        self._task = self.loop.create_task(_awaited(awaitable))
        return self._await()

    def _await(self) -> Any:
        loop: Any = self.loop
        task = self._task
        if task is None:
            raise RuntimeError("no program waits for its caller")
        value: Any = None
        error: BaseException | None = None
        try:
            if not loop.run_until_idle(task, self._rest) and asking.is_asked(loop):
                return cells.WAITS
            if not task.done():
                raise RuntimeError("Event loop stopped before Future completed.")
            value = task.result()
        except BaseException as raised:
            error = raised
        self._task = None
        try:
            # As `asyncio.run`: nothing of the loop outlives what was awaited.
            _cancel_all(loop)
            loop.run_until_complete(loop.shutdown_asyncgens())
        except BaseException as raised:
            error = error or raised
        return self._advance(value, error)


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


cells.new_program = WholeProgram
