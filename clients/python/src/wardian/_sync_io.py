"""Pauses and files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import sleep

__all__ = ["chunks_of", "replace_file", "sleep"]

CHUNK = 1 << 18


def chunks_of(path: Path) -> Iterator[bytes]:
    """The content of a file, in pieces."""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def replace_file(path: Path, content: Iterator[bytes]) -> None:
    """Writes a file as a whole: until all of it has come, nothing changes at `path`."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(descriptor)
    draft = Path(name)
    try:
        with draft.open("wb") as file:
            for chunk in content:
                file.write(chunk)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
