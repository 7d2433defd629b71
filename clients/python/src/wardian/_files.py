"""Files that are written as a whole, and those that uploads read."""

from __future__ import annotations

import secrets
import stat
from pathlib import Path
from typing import IO

CHUNK = 1 << 18


def new_draft(path: Path) -> Path:
    """A new, empty file beside `path`, with the access rights of any new file."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    draft.touch(exist_ok=False)
    return draft


def put_in_place(draft: Path, path: Path) -> None:
    """Replaces `path` by its draft. The access rights stay."""
    if path.exists():
        draft.chmod(stat.S_IMODE(path.stat().st_mode))
    draft.replace(path)


def as_binary_file(content: object) -> IO[bytes] | None:
    """The content, if it is a file whose bytes can be read more than once."""
    seekable = getattr(content, "seekable", None)
    if seekable is None or not seekable() or hasattr(content, "encoding"):
        return None
    file: IO[bytes] = content  # pyright: ignore[reportAssignmentType]
    return file


def name_of(file: IO[bytes]) -> str | None:
    """The name of an open file. One that has none is, for example, in memory."""
    name: object = getattr(file, "name", None)
    return Path(name).name if isinstance(name, str) else None
