"""Pauses and files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO

from anyio import open_file, sleep, to_thread

from wardian._files import CHUNK, new_draft, put_in_place

__all__ = ["chunks_of", "chunks_of_file", "replace_file", "sleep"]


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
