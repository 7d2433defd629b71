"""Pauses, files and the functions of a caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import sleep
from typing import IO, Any

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

AWAITS = False
"""Whether `outcomes_of` awaits what functions return."""


def chunks_of(path: Path) -> Iterator[bytes]:
    """The content of a file, in pieces."""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def chunks_of_file(file: IO[bytes], start: int) -> Iterator[bytes]:
    """The content of an open file from an offset, in pieces. The file stays open."""
    file.seek(start)
    while chunk := file.read(CHUNK):
        yield chunk


def replace_file(path: Path, content: Iterator[bytes]) -> None:
    """Replaces a file atomically: `path` does not change until the content is complete."""
    draft = new_draft(path)
    try:
        with draft.open("wb") as file:
            for chunk in content:
                file.write(chunk)
        put_in_place(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def outcomes_of(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Calls functions, one after another, and returns what they return or raise."""
    outcomes: list[Any] = []
    for call in calls:
        try:
            outcomes.append(call())
        except Exception as error:
            outcomes.append(error)
    return outcomes


def on_the_way_out(seconds: float) -> AbstractContextManager[None]:
    """A block on the way out. Here its requests have timeouts, and nothing else ends it."""
    return nullcontext()
