# Made from `_async/session_files.py` by `generate.py`: change that file, not this one.
"""The files of a session: listed, read, written and removed between its cells."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Callable
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any, TypeAlias

from wardian import _calls, _wire
from wardian._sync.transport import Transport
from wardian._sync_io import chunks_of, chunks_of_file, replace_file
from wardian._calls import Request
from wardian._files import as_binary_file, length_of
from wardian.sessions import Checkpoint, FileChange, SessionFile

FileContent: TypeAlias = "bytes | bytearray | memoryview | str | PathLike[str] | IO[bytes]"
"""What a file of a session can be made from: bytes, text, a `Path`, or a file in binary mode."""

PAGE = 1_000
"""Files that the server lists at once."""


class SessionFiles:
    """The files in the working folder of a session: `session.files`.

    Paths are relative to that folder; those that begin with `/workspace/`, as programs write them, are
    too. A busy session is refused with `SessionBusy`, unless `wait_ms` says how long to wait.
    """

    def __init__(
        self, transport: Transport, session_id: str, seen: Callable[[str | None], None]
    ) -> None:
        self._transport = transport
        self._path = f"{_calls.session_path(session_id)}/files"
        self._seen = seen

    def list(
        self, folder: str | None = None, *, limit: int | None = None, wait_ms: int | None = None
    ) -> list[SessionFile]:
        """What is in the folder and below it, or everything, in the order of the paths: at most
        `limit` files, folders and links, or all."""
        found: list[SessionFile] = []
        cursor: str | None = None
        within = None if folder is None else _relative(folder).rstrip("/") or None
        while limit is None or len(found) < limit:
            count = PAGE if limit is None else min(limit - len(found), PAGE)
            request = _calls.get(
                self._path, folder=within, cursor=cursor, limit=count, wait_ms=wait_ms
            )
            raw = _calls.object_of(self._transport.send(_waiting(request, wait_ms)))
            self._seen(_wire.text_or_none(raw, "checkpoint"))
            found += [SessionFile.read(one) for one in _wire.objects(raw, "files")]
            cursor = _wire.text_or_none(raw, "next_cursor")
            if cursor is None:
                break
        return found

    def read(self, path: str, *, wait_ms: int | None = None) -> bytes:
        """The whole content of a file. Raises `FileNotFound` if there is none."""
        return (self._transport.send(self._read(path, wait_ms))).content

    def read_text(self, path: str, *, wait_ms: int | None = None) -> str:
        """The whole content of a file, as text."""
        return (self.read(path, wait_ms=wait_ms)).decode()

    def download(
        self, path: str, to: str | PathLike[str], *, wait_ms: int | None = None
    ) -> Path:
        """Writes a file of the session to a file here, which is replaced once the content is complete."""
        place = Path(to)
        with self.stream(path, wait_ms=wait_ms) as pieces:
            replace_file(place, pieces)
        return place

    @contextmanager
    def stream(
        self, path: str, *, wait_ms: int | None = None
    ) -> Generator[Iterator[bytes], None, None]:
        """The content of a file in pieces."""
        with self._transport.stream(self._read(path, wait_ms)) as response:
            yield self._transport.pieces(response)

    def write(
        self,
        path: str,
        content: FileContent,
        *,
        if_checkpoint: str | Checkpoint | None = None,
        wait_ms: int | None = None,
    ) -> FileChange:
        """Writes a file, and makes the folders that lead to it. The change is a checkpoint of its own.

        Raises `SessionConflict` if the session is not at the checkpoint `if_checkpoint`, and
        `QuotaExceeded` if the workspace has no room. Nothing is changed then.
        """
        body, source, length = _parts(content)
        request = self._change("PUT", path, if_checkpoint, wait_ms)
        headers = {"content-type": "application/octet-stream", "content-length": str(length)}
        sent = Request(
            request.method, request.path, False, body, request.params, headers, request.waits
        )
        return self._changed(sent, source)

    def delete(
        self,
        path: str,
        *,
        if_checkpoint: str | Checkpoint | None = None,
        wait_ms: int | None = None,
    ) -> FileChange:
        """Removes a file, a link or an empty folder. The change is a checkpoint of its own."""
        return self._changed(self._change("DELETE", path, if_checkpoint, wait_ms), None)

    def _read(self, path: str, wait_ms: int | None) -> Request:
        return _waiting(_calls.get(self._place(path), wait_ms=wait_ms), wait_ms)

    def _change(
        self, method: str, path: str, if_checkpoint: str | Checkpoint | None, wait_ms: int | None
    ) -> Request:
        checkpoint = None if if_checkpoint is None else str(if_checkpoint)
        given: dict[str, Any] = {"if_checkpoint": checkpoint, "wait_ms": wait_ms}
        params = {name: str(value) for name, value in given.items() if value is not None}
        return _waiting(Request(method, self._place(path), False, params=params), wait_ms)

    def _changed(
        self, request: Request, source: Callable[[], Iterator[bytes]] | None
    ) -> FileChange:
        raw = _calls.object_of(self._transport.send(request, source))
        change = FileChange.read(raw)
        self._seen(change.checkpoint)
        return change

    def _place(self, path: str) -> str:
        names = _relative(path).split("/")
        return "/".join([self._path, *(_calls.segment("path", name) for name in names)])


def _relative(path: str) -> str:
    """The path below the working folder."""
    return path.removeprefix("/workspace/")


def _waiting(request: Request, wait_ms: int | None) -> Request:
    """The request, for which the server may wait."""
    waits = (wait_ms or 0) / 1_000
    return Request(
        request.method,
        request.path,
        request.is_repeatable,
        request.body,
        request.params,
        request.headers,
        waits,
    )


def _parts(
    content: FileContent,
) -> tuple[bytes | None, Callable[[], Iterator[bytes]] | None, int]:
    """The content as bytes, or the function that returns its pieces, and its length."""
    if isinstance(content, str):
        body = content.encode()
        return body, None, len(body)
    if isinstance(content, (bytes, bytearray, memoryview)):
        body = bytes(content)
        return body, None, len(body)
    if isinstance(content, PathLike):
        path = Path(content)
        return None, lambda: chunks_of(path), path.stat().st_size
    file = as_binary_file(content)
    if file is not None:
        start = file.tell()
        return None, lambda: chunks_of_file(file, start), length_of(file)
    raise TypeError(
        f"a file cannot be made from {type(content).__name__}: pass bytes, text, a Path, or a file "
        "that is open in binary mode"
    )
