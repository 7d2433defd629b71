"""Blobs of any size, from and to memory, files and tables."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from wardian import _calls, _frames, _wire
from wardian._async.transport import AsyncTransport
from wardian._async_io import chunks_of, replace_file
from wardian._calls import Request
from wardian._wire import JsonObject
from wardian.options import FrameFormat
from wardian.results import Blob, Page

if TYPE_CHECKING:
    import pandas


class AsyncBlobs:
    """The blobs of the tenant: `client.blobs`. Wherever an id is expected, a `Blob` will do."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def upload(
        self,
        content: bytes | str | PathLike[str] | Callable[[], AsyncIterator[bytes]],
        *,
        kind: str | None = None,
        filename: str | None = None,
    ) -> Blob:
        """Stores bytes, a text, a file (by its `Path`), or what a function gives in pieces.

        Without `kind` the extension of the file decides.
        """
        headers: dict[str, str] = {} if kind is None else {"content-type": kind}
        source: Callable[[], AsyncIterator[bytes]] | None = None
        body: bytes | None = None
        if isinstance(content, str):
            body = content.encode()
            headers.setdefault("content-type", "text/plain")
        elif isinstance(content, bytes):
            body = content
        elif isinstance(content, PathLike):
            path = Path(cast("PathLike[str]", content))
            filename = path.name if filename is None else filename
            source = _pieces(path)
        else:
            source = content
        if body is not None:
            digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
            headers["repr-digest"] = f"sha-256=:{digest}:"
        params = None if filename is None else {"filename": filename}
        # The same content is the same blob, however often it is stored.
        request = Request("PUT", "/v1/blobs", True, body, params, headers)
        raw = _calls.object_of(await self._transport.send(request, source))
        blob = Blob.read(raw)
        return Blob(blob.blob_id, blob.size_bytes, kind, raw=raw)

    async def read(self, blob_id: str | Blob) -> bytes:
        """All of a blob."""
        return (await self._transport.send(_calls.get(f"/v1/blobs/{blob_id}"))).content

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
        async with self._transport.stream(_calls.get(f"/v1/blobs/{blob_id}")) as response:
            yield response.aiter_bytes()

    async def describe(self, blob_id: str | Blob) -> Blob:
        """Size and kind of a blob."""
        request = Request("HEAD", f"/v1/blobs/{blob_id}", True)
        headers = (await self._transport.send(request)).headers
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
        await self._transport.send(Request("DELETE", f"/v1/blobs/{blob_id}", False))

    async def verify(
        self, blob_id: str | Blob, damaged: Literal["keep", "quarantine", "delete"] = "keep"
    ) -> bool:
        """Compares the whole content with the id. True if it is intact."""
        request = Request("POST", f"/v1/blobs/{blob_id}/verify", True, params={"damaged": damaged})
        return _wire.flag(_calls.object_of(await self._transport.send(request)), "intact")

    async def put_frame(self, frame: pandas.DataFrame, format: FrameFormat = "csv") -> Blob:
        """Stores a DataFrame as CSV or Parquet, without its index."""
        content, kind = _frames.to_bytes(frame, format)
        return await self.upload(content, kind=kind)

    async def read_frame(
        self, blob_id: str | Blob, format: FrameFormat | None = None
    ) -> pandas.DataFrame:
        """Reads a blob as a DataFrame. Without `format` the kind of the blob decides."""
        response = await self._transport.send(_calls.get(f"/v1/blobs/{blob_id}"))
        kind = response.headers.get("content-type", "")
        return _frames.from_file(io.BytesIO(response.content), format or _frames.format_of(kind))


def _pieces(path: Path) -> Callable[[], AsyncIterator[bytes]]:
    return lambda: chunks_of(path)
