"""Files that downloads replace atomically, and files that uploads read."""

from __future__ import annotations

import secrets
import stat
from pathlib import Path
from typing import IO

CHUNK = 1 << 18


def new_draft(path: Path) -> Path:
    """A new, empty file next to `path`, with the default permissions."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    draft.touch(exist_ok=False)
    return draft


def put_in_place(draft: Path, path: Path) -> None:
    """Replaces `path` by its draft, and keeps the permissions of `path`."""
    if path.exists():
        draft.chmod(stat.S_IMODE(path.stat().st_mode))
    draft.replace(path)


def as_binary_file(content: object) -> IO[bytes] | None:
    """The content, if it is a file whose bytes can be read repeatedly."""
    seekable = getattr(content, "seekable", None)
    if seekable is None or not seekable() or hasattr(content, "encoding"):
        return None
    file: IO[bytes] = content  # pyright: ignore[reportAssignmentType]
    return file


def length_of(file: IO[bytes]) -> int:
    """The bytes of an open file from its position on, which stays."""
    start = file.tell()
    end = file.seek(0, 2)
    file.seek(start)
    return max(end - start, 0)


def name_of(file: IO[bytes]) -> str | None:
    """The name of an open file. A file in memory, for example, has none."""
    name: object = getattr(file, "name", None)
    return Path(name).name if isinstance(name, str) else None
