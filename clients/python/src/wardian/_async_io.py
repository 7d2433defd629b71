"""Pauses, files and the functions of a caller."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from inspect import isawaitable
from pathlib import Path
from typing import IO, Any

from anyio import CancelScope, create_task_group, move_on_after, open_file, sleep, to_thread

from wardian._files import CHUNK, new_draft, put_in_place

__all__ = [
    "AWAITS",
    "chunks_of",
    "chunks_of_file",
    "on_the_way_out",
    "outcomes_of",
    "replace_file",
    "sleep",
]

AWAITS = True
"""Whether `outcomes_of` awaits what functions return."""


async def chunks_of(path: Path) -> AsyncIterator[bytes]:
    """The content of a file, in pieces."""
    async with await open_file(path, "rb") as file:
        while chunk := await file.read(CHUNK):
            yield chunk


async def chunks_of_file(file: IO[bytes], start: int) -> AsyncIterator[bytes]:
    """The content of an open file from an offset, in pieces. The file stays open."""
    await to_thread.run_sync(file.seek, start)
    while chunk := await to_thread.run_sync(file.read, CHUNK):
        yield chunk


async def replace_file(path: Path, content: AsyncIterator[bytes]) -> None:
    """Replaces a file atomically: `path` does not change until the content is complete."""
    draft = new_draft(path)
    try:
        async with await open_file(draft, "wb") as file:
            async for chunk in content:
                await file.write(chunk)
        put_in_place(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


async def outcomes_of(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Calls functions and coroutine functions, and returns what they return or raise. Coroutines run
    at the same time."""
    # What is left of a function that was cancelled, and nobody else with it.
    outcomes: list[Any] = [RuntimeError("the function was cancelled")] * len(calls)

    async def note(at: int, call: Callable[[], Any]) -> None:
        try:
            outcome = call()
            outcomes[at] = await outcome if isawaitable(outcome) else outcome
        except Exception as error:
            outcomes[at] = error

    async with create_task_group() as group:
        for at, call in enumerate(calls):
            group.start_soon(note, at, call)
    return outcomes


def on_the_way_out(seconds: float) -> CancelScope:
    """A block that goes on for up to so many seconds although its task was cancelled."""
    return move_on_after(seconds, shield=True)
