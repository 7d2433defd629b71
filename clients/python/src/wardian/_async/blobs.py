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
    """The blobs of the tenant: `client.blobs`. Wherever an id is expected, a `Blob` will do."""

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
        """Stores bytes, a text, a file (by its `Path`, or open in binary mode), or what a function
        gives in pieces.

        `name`, by default that of the file, is the name by which programs can open the blob;
        `filename` is another word for it. Without `kind` the extension of the name decides, and the
        `kind` of the result is `None`: `describe` tells it.
        """
        body, source, own = _parts(content)
        if kind is None and isinstance(content, str):
            kind = "text/plain"
        headers = {} if kind is None else {"content-type": _checked_kind(kind)}
        if body is not None:
            digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
            headers["repr-digest"] = f"sha-256=:{digest}:"
        name = name or filename or own
        # The name of a file need not be Unicode, but a parameter is.
        params = None if name is None else {"filename": _calls.as_unicode(name)}
        # The same content is the same blob, however often it is stored.
        request = Request("PUT", "/v1/blobs", True, body, params, headers)
        raw = _calls.object_of(await self._transport.send(request, source))
        blob = Blob.read(raw)
        return Blob(blob.blob_id, blob.size_bytes, kind, blob.name, raw=raw)

    async def read(self, blob_id: str | Blob) -> bytes:
        """All of a blob."""
        return (await self._transport.send(_calls.get(_calls.blob_path(blob_id)))).content

    async def read_text(self, blob_id: str | Blob) -> str:
        """All of a blob, as text."""
        return (await self.read(blob_id)).decode()

    async def download(self, blob_id: str | Blob, path: str | PathLike[str]) -> Path:
        """Writes a blob to a file, which is replaced once all of it has come."""
        place = Path(path)
        async with self.stream(blob_id) as pieces:
            await replace_file(place, pieces)
        return place

    @asynccontextmanager
    async def stream(self, blob_id: str | Blob) -> AsyncGenerator[AsyncIterator[bytes]]:
        """The content of a blob in pieces, for a blob that is larger than the memory."""
        async with self._transport.stream(_calls.get(_calls.blob_path(blob_id))) as response:
            yield self._transport.pieces(response)

    async def describe(self, blob_id: str | Blob) -> Blob:
        """Size and kind of a blob."""
        request = Request("HEAD", _calls.blob_path(blob_id), True)
        try:
            headers = (await self._transport.send(request)).headers
        except CallError as error:
            # The answer has no body that says it.
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
        """Compares the whole content with the id. True if it is intact."""
        request = Request("POST", f"{_calls.blob_path(blob_id)}/verify", True, params={"damaged": damaged})
        return _wire.flag(_calls.object_of(await self._transport.send(request)), "intact")

    async def put_frame(
        self, frame: pandas.DataFrame, format: FrameFormat = "csv", *, name: str | None = None
    ) -> Blob:
        """Stores a DataFrame as CSV or Parquet.

        An index that is not the number of the row is in front of the columns, under its name.
        """
        content, kind = _frames.to_bytes(frame, format)
        return await self.upload(content, kind=kind, name=name)

    async def read_frame(
        self, blob_id: str | Blob, format: FrameFormat | None = None
    ) -> pandas.DataFrame:
        """Reads a blob as a DataFrame. Without `format` the kind of the blob decides."""
        response = await self._transport.send(_calls.get(_calls.blob_path(blob_id)))
        kind = response.headers.get("content-type", "")
        return _frames.from_file(io.BytesIO(response.content), format or _frames.format_of(kind))


def _parts(
    content: AsyncContent,
) -> tuple[bytes | None, Callable[[], AsyncIterator[bytes]] | None, str | None]:
    """The bytes of a content, or the function that gives its pieces, and the name of its file."""
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
    # A request may have to be sent again, and pieces that are gone cannot be.
    raise TypeError(
        f"a blob cannot be made from {type(content).__name__}: give bytes, a text, a Path, a file "
        "that is open in binary mode, or a function that gives the pieces anew each time"
    )


def _checked_kind(kind: str) -> str:
    """The kind, if a header can have it."""
    if kind.isascii() and kind.isprintable():
        return kind
    raise InvalidParams("`kind` has characters that no kind has", parameter="kind")
