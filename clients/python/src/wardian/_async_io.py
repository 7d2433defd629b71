"""Pauses and files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from anyio import open_file, sleep

__all__ = ["chunks_of", "replace_file", "sleep"]

CHUNK = 1 << 18


async def chunks_of(path: Path) -> AsyncIterator[bytes]:
    """The content of a file, in pieces."""
    async with await open_file(path, "rb") as file:
        while chunk := await file.read(CHUNK):
            yield chunk


async def replace_file(path: Path, content: AsyncIterator[bytes]) -> None:
    """Writes a file as a whole: until all of it has come, nothing changes at `path`."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(descriptor)
    draft = Path(name)
    try:
        async with await open_file(draft, "wb") as file:
            async for chunk in content:
                await file.write(chunk)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
