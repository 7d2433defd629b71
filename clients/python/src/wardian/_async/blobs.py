"""Blobs of any size, from and to memory, files and tables."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, TypeAlias, cast

from wardian import _calls, _frames, _wire
from wardian._async.transport import AsyncTransport
from wardian._async_io import chunks_of, chunks_of_file, replace_file
from wardian._calls import Request
from wardian._files import as_binary_file, name_of
from wardian._wire import JsonObject
from wardian.errors import BlobNotFound, CallError, InvalidParams
from wardian.options import FrameFormat
from wardian.results import Blob, Page

if TYPE_CHECKING:
    import pandas


AsyncContent: TypeAlias = (
    bytes
    | bytearray
    | memoryview
    | str
    | PathLike[str]
    | IO[bytes]
    | Callable[[], AsyncIterator[bytes]]
)
"""What a blob can be made from."""


class AsyncBlobs:
    """The blobs of the tenant: `client.blobs`. Methods that take an id also take a `Blob`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def upload(
        self,
        content: AsyncContent,
        *,
        kind: str | None = None,
        name: str | None = None,
        filename: str | None = None,
    ) -> Blob:
        """Stores bytes, text, a file (a `Path`, or open in binary mode), or the pieces that a
        function returns.

        Programs can open the blob by `name`, which defaults to the name of the file; `filename` is
        an alias. Without `kind`, the server derives it from the extension of the name, and the
        `kind` of the result is `None`: `describe` returns it.
        """
        body, source, own = _parts(content)
        if kind is None and isinstance(content, str):
            kind = "text/plain"
        headers = {} if kind is None else {"content-type": _checked_kind(kind)}
        if body is not None:
            digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
            headers["repr-digest"] = f"sha-256=:{digest}:"
        name = name or filename or own
        # The name of a file may not be valid Unicode, but a parameter must be.
        params = None if name is None else {"filename": _calls.as_unicode(name)}
        # Storing the same content again gives the same blob.
        request = Request("PUT", "/v1/blobs", True, body, params, headers)
        raw = _calls.object_of(await self._transport.send(request, source))
        blob = Blob.read(raw)
        return Blob(blob.blob_id, blob.size_bytes, kind, blob.name, raw=raw)

    async def read(self, blob_id: str | Blob) -> bytes:
        """The whole content of a blob."""
        return (await self._transport.send(_calls.get(_calls.blob_path(blob_id)))).content

    async def read_text(self, blob_id: str | Blob) -> str:
        """All of a blob, as text."""
        return (await self.read(blob_id)).decode()

    async def download(self, blob_id: str | Blob, path: str | PathLike[str]) -> Path:
        """Writes a blob to a file, which is replaced once the download is complete."""
        place = Path(path)
        async with self.stream(blob_id) as pieces:
            await replace_file(place, pieces)
        return place

    @asynccontextmanager
    async def stream(self, blob_id: str | Blob) -> AsyncGenerator[AsyncIterator[bytes]]:
        """The content of a blob in pieces, for blobs that do not fit into memory."""
        async with self._transport.stream(_calls.get(_calls.blob_path(blob_id))) as response:
            yield self._transport.pieces(response)

    async def describe(self, blob_id: str | Blob) -> Blob:
        """Size and kind of a blob."""
        request = Request("HEAD", _calls.blob_path(blob_id), True)
        try:
            headers = (await self._transport.send(request)).headers
        except CallError as error:
            # The answer to `HEAD` has no body with the error.
            if error.http_status != 404:
                raise
            raise BlobNotFound(
                f"the blob `{blob_id}` does not exist", request_id=error.request_id, http_status=404
            ) from error
        size, kind = int(headers.get("content-length", "0")), headers.get("content-type")
        raw: JsonObject = {"blob_id": str(blob_id), "size_bytes": size, "kind": kind}
        return Blob(str(blob_id), size, kind, raw=raw)

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Blob]:
        """A page of the blobs, in the order of their ids."""
        response = await self._transport.send(_calls.get("/v1/blobs", limit=limit, cursor=cursor))
        raw = _calls.object_of(response)
        items = [Blob.read(blob) for blob in _wire.objects(raw, "blobs")]
        return Page(items, _wire.text_or_none(raw, "next_cursor"), raw=raw)

    async def delete(self, blob_id: str | Blob) -> None:
        """Removes a blob."""
        await self._transport.send(Request("DELETE", _calls.blob_path(blob_id), False))

    async def verify(
        self, blob_id: str | Blob, damaged: Literal["keep", "quarantine", "delete"] = "keep"
    ) -> bool:
        """Checks the whole content against the id. True if it is intact."""
        request = Request("POST", f"{_calls.blob_path(blob_id)}/verify", True, params={"damaged": damaged})
        return _wire.flag(_calls.object_of(await self._transport.send(request)), "intact")

    async def put_frame(
        self, frame: pandas.DataFrame, format: FrameFormat = "csv", *, name: str | None = None
    ) -> Blob:
        """Stores a DataFrame as CSV or Parquet.

        An index other than the default row numbers is stored as columns before the others.
        """
        content, kind = _frames.to_bytes(frame, format)
        return await self.upload(content, kind=kind, name=name)

    async def read_frame(
        self, blob_id: str | Blob, format: FrameFormat | None = None
    ) -> pandas.DataFrame:
        """Reads a blob as a DataFrame. `format` defaults to that of the blob's kind."""
        response = await self._transport.send(_calls.get(_calls.blob_path(blob_id)))
        kind = response.headers.get("content-type", "")
        return _frames.from_file(io.BytesIO(response.content), format or _frames.format_of(kind))


def _parts(
    content: AsyncContent,
) -> tuple[bytes | None, Callable[[], AsyncIterator[bytes]] | None, str | None]:
    """The content as bytes, or the function that returns its pieces, and the file name."""
    if isinstance(content, str):
        return content.encode(), None, None
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(content), None, None
    if isinstance(content, PathLike):
        path = Path(cast("PathLike[str]", content))
        return None, lambda: chunks_of(path), path.name
    file = as_binary_file(content)
    if file is not None:
        start = file.tell()
        return None, lambda: chunks_of_file(file, start), name_of(file)
    if callable(content):
        return None, content, None
    # A request may have to be sent again, but an iterator can be read only once.
    raise TypeError(
        f"a blob cannot be made from {type(content).__name__}: pass bytes, text, a Path, a file "
        "that is open in binary mode, or a function that returns new pieces each time"
    )


def _checked_kind(kind: str) -> str:
    """The kind, if it can be sent in a header."""
    if kind.isascii() and kind.isprintable():
        return kind
    raise InvalidParams("`kind` has characters that no MIME type has", parameter="kind")
