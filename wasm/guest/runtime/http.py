"""Send requests over HTTP, for code that wants no library.

    answer = http.get("https://api.example.com/items", params={"page": 2})
    answer.raise_for_status()
    items = answer.json()

    http.post("https://api.example.com/items", json={"name": "x"})
    report = http.get("https://example.com/report.pdf", to_blob=True).blob_id
    http.request("PUT", "https://example.com/upload", from_blob=report)

`to_blob` and `from_blob` stream: the content never is in the program's memory as a whole. A skill
reaches the hosts that its manifest names; anything else is `PolicyDenied`, and the message says
what the manifest would need.
"""

from __future__ import annotations

import base64
import errno
import http.client
import io
import json as _json
import os
import ssl
import tempfile
import time
import urllib.parse
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from _wardian import network
from _wardian.refusals import PolicyDenied
from _wardian.result import to_json
from runtime import blobs

__all__ = ["HttpError", "Response", "get", "post", "request"]

_PIECE = 1 << 16
_MOST_REDIRECTS = 10
_REDIRECTS = (301, 302, 303, 307, 308)
_PORTS = {"http": 80, "https": 443}
_PRIVATE_FIELDS = ("authorization", "cookie", "proxy-authorization")


class HttpError(OSError):
    """The answer says that the request failed; `response` is that answer."""

    def __init__(self, message: str, response: Response) -> None:
        super().__init__(message)
        self.response = response


class Response:
    """An answer: `status`, `reason`, `url` (after redirects), `headers`, and its content.

    With `to_blob` the content is in the blob `blob_id`, and `content` is empty.
    """

    def __init__(self, status: int, reason: str, url: str, headers: Any) -> None:
        self.status: int = status
        self.reason: str = reason
        self.url: str = url
        self.headers: Any = headers
        self.content: bytes = b""
        self.blob_id: str | None = None

    @property
    def ok(self) -> bool:
        """True if the status is below 400."""
        return self.status < 400

    @property
    def kind(self) -> str:
        """The MIME type that the answer names."""
        named: str = self.headers.get_content_type() if "content-type" in self.headers else ""
        return named or "application/octet-stream"

    @property
    def text(self) -> str:
        """The content as text, in the encoding that the answer names, else UTF-8."""
        charset = self.headers.get_content_charset() or "utf-8"
        try:
            return self.content.decode(charset, "replace")
        except LookupError:
            return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """Returns the value that the content holds as JSON.

        Raises:
            ValueError: It is no JSON.
        """
        return _json.loads(self.content)

    def raise_for_status(self) -> None:
        """Does nothing for an answer that is fine.

        Raises:
            HttpError: The status is 400 or above.
        """
        if not self.ok:
            raise HttpError(f"{self.status} {self.reason} for {self.url}", self)

    def __repr__(self) -> str:
        return f"<Response {self.status} {self.url}>"


def get(url: str, **options: Any) -> Response:
    """Sends a GET; the options are those of `request`."""
    return request("GET", url, **options)


def post(url: str, **options: Any) -> Response:
    """Sends a POST; the options are those of `request`."""
    return request("POST", url, **options)


def request(
    method: str,
    url: str,
    *,
    params: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None,
    headers: Mapping[str, str] | None = None,
    json: Any = None,
    form: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None,
    data: bytes | str | None = None,
    from_blob: str | None = None,
    to_blob: bool = False,
    auth: tuple[str, str] | None = None,
    timeout: float | None = 60.0,
    redirects: int = _MOST_REDIRECTS,
) -> Response:
    """Sends a request and returns the answer, whatever its status.

    `params` are added to the URL. The body is one of `json`, `form` (fields of an HTML form),
    `data`, or the blob `from_blob`. With `to_blob` the content of the answer becomes a blob.
    `auth` is a name and a password. `timeout` is the longest wait for the next bytes, in seconds.
    At most so many `redirects` are followed.

    Raises:
        PolicyDenied: This run may not reach the host.
        TimeoutError: No bytes came in time.
        OSError: The host cannot be reached, broke off, or sent something that is no HTTP.
        ValueError: The URL or the options make no sense.
    """
    fields = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate", "User-Agent": "wardian"}
    body = _Body(json, form, data, from_blob)
    if body.kind is not None:
        fields["Content-Type"] = body.kind
    if auth is not None:
        token = base64.b64encode(f"{auth[0]}:{auth[1]}".encode()).decode()
        fields["Authorization"] = f"Basic {token}"
    for name, value in (headers or {}).items():
        _replace(fields, name, value)
    url = _with_params(url, params)
    for _ in range(redirects + 1):
        exchange = _Exchange(method, url, fields, body, timeout)
        with exchange as answer:
            target = answer.headers.get("location")
            if redirects == 0 or answer.status not in _REDIRECTS or target is None:
                return _received(answer, url, to_blob)
        url, method, body = _redirected(url, target, method, answer.status, fields, body)
    raise OSError(errno.ELOOP, f"more than {redirects} redirects, the last one to {url}")


class _Body:
    """What a request sends, as often as redirects ask for it."""

    def __init__(self, json: Any, form: Any, data: Any, from_blob: Any) -> None:
        if sum(part is not None for part in (json, form, data, from_blob)) > 1:
            raise ValueError("a request has one body: `json`, `form`, `data` or `from_blob`")
        self.kind: str | None = None
        self.size: int | None = None
        self._content: bytes | None = None
        self._blob = from_blob
        if json is not None:
            self.kind, self._content = "application/json", to_json(json, "json")
        elif form is not None:
            self.kind = "application/x-www-form-urlencoded"
            self._content = urllib.parse.urlencode(_pairs(form), doseq=True).encode()
        elif data is not None:
            self.kind = "text/plain; charset=utf-8" if isinstance(data, str) else None
            self._content = data.encode() if isinstance(data, str) else _bytes_of(data)
        elif from_blob is not None:
            kinds = {blob.id: blob.kind for blob in blobs.list()}
            self.kind = kinds.get(from_blob, "application/octet-stream")
            self.size = os.path.getsize(blobs.path(from_blob))
        if self._content is not None:
            self.size = len(self._content)

    def pieces(self) -> Iterator[bytes]:
        """The bytes, piece by piece."""
        source = io.BytesIO(self._content) if self._blob is None else blobs.open(self._blob)
        with source:
            while piece := source.read(_PIECE):
                yield piece


def _bytes_of(data: Any) -> bytes:
    try:
        return bytes(memoryview(data))
    except TypeError:
        kind = type(data).__name__
        raise TypeError(
            f"data is bytes or str, not {kind}: `form` sends fields, `json` any value"
        ) from None


class _Exchange:
    """One request and its answer, on a connection of their own."""

    def __init__(
        self, method: str, url: str, fields: dict[str, str], body: _Body, timeout: float | None
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError(f"`{url[:200]}` is no URL that begins with https:// or http://")
        if parts.username is not None:
            raise ValueError("a URL holds no name and password here: use `auth=(name, password)`")
        port = parts.port or _PORTS[parts.scheme]
        self._path = urllib.parse.quote(
            urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, "")),
            safe="/?&=:@!$'()*+,;%~",
        )
        self._method, self._fields, self._body = method, fields, body
        try:
            if parts.scheme == "https":
                self._link: http.client.HTTPConnection = http.client.HTTPSConnection(
                    parts.hostname, port, timeout=timeout, context=_context()
                )
            else:
                self._link = http.client.HTTPConnection(parts.hostname, port, timeout=timeout)
        except http.client.InvalidURL as error:
            raise ValueError(str(error)) from None

    def __enter__(self) -> http.client.HTTPResponse:
        try:
            return self._exchange()
        except OSError as error:
            self._link.close()
            if error.errno == errno.EACCES or network.has_no_network(error):
                raise PolicyDenied(error.strerror) from None
            raise
        except http.client.HTTPException as error:
            self._link.close()
            raise _malformed(f"the answer is malformed ({type(error).__name__})") from None
        except BaseException:
            self._link.close()
            raise

    def __exit__(self, *_: object) -> None:
        self._link.close()

    def _exchange(self) -> http.client.HTTPResponse:
        link = self._link
        link.putrequest(self._method, self._path, skip_accept_encoding=True)
        for name, value in self._fields.items():
            link.putheader(name, value)
        if self._body.size is not None:
            link.putheader("Content-Length", str(self._body.size))
        elif self._method in ("POST", "PUT", "PATCH"):
            link.putheader("Content-Length", "0")
        link.putheader("Connection", "close")
        link.endheaders()
        try:
            for piece in self._body.pieces() if self._body.size else ():
                link.send(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server has answered before it got everything
        return link.getresponse()


_contexts: list[ssl.SSLContext] = []


def _context() -> ssl.SSLContext:
    """The context of all requests."""
    if not _contexts:
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        _contexts.append(context)
    return _contexts[0]


def _received(answer: http.client.HTTPResponse, url: str, to_blob: bool) -> Response:
    """Reads the content of an answer to where it is wanted."""
    response = Response(answer.status, answer.reason, url, answer.headers)
    pieces = _decoded(answer)
    if not to_blob:
        response.content = b"".join(pieces)
        return response
    name = f"{tempfile.gettempdir()}/.answer-{time.monotonic_ns()}"
    try:
        with io.open(name, "wb") as file:
            for piece in pieces:
                file.write(piece)
        response.blob_id = blobs.write_file(name, response.kind)
    finally:
        if os.path.exists(name):
            os.unlink(name)
    return response


def _decoded(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    """The content without its coding, piece by piece."""
    coding = (answer.headers.get("content-encoding") or "identity").strip().lower()
    if coding in ("gzip", "x-gzip", "deflate"):
        try:
            yield from _unpacked(answer, coding)
        except zlib.error:
            raise _malformed(f"the {coding} content of the answer is damaged") from None
    else:
        yield from _pieces(answer)


def _unpacked(answer: http.client.HTTPResponse, coding: str) -> Iterator[bytes]:
    unpacker: Any = None
    for piece in _pieces(answer):
        while piece:
            if unpacker is None or unpacker.eof:  # a gzip file can have several parts
                unpacker = zlib.decompressobj(_window(coding, piece))
            yield unpacker.decompress(piece, _PIECE)
            piece = unpacker.unconsumed_tail or unpacker.unused_data.lstrip(b"\0")
    if unpacker is not None:
        yield unpacker.flush()
        if not unpacker.eof:
            raise _malformed(f"the answer ends in the middle of its {coding} content")


def _pieces(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    """The content as it comes. `HTTPResponse.read` says nothing of a part that is missing."""
    try:
        while piece := answer.read(_PIECE):
            yield piece
    except http.client.HTTPException:
        raise _broken_off() from None
    if answer.length:
        raise _broken_off()


def _broken_off() -> OSError:
    return ConnectionResetError(errno.ECONNRESET, "the answer ends before its end")


def _malformed(text: str) -> OSError:
    return OSError(errno.EPROTO, text)


def _window(coding: str, first: bytes) -> int:
    """The format of the coding: `deflate` is zlib's by the standard, and raw for some servers."""
    if coding != "deflate":
        return 31
    return 15 if first[0] & 0x0F == 8 and int.from_bytes(first[:2], "big") % 31 == 0 else -15


def _redirected(
    url: str, target: str, method: str, status: int, fields: dict[str, str], body: _Body
) -> tuple[str, str, _Body]:
    """The next URL, method and body; takes fields away that the next host must not see."""
    following = urllib.parse.urljoin(url, target)
    old, new = urllib.parse.urlsplit(url), urllib.parse.urlsplit(following)
    if (old.scheme, old.netloc) != (new.scheme, new.netloc):
        for name in [name for name in fields if name.lower() in _PRIVATE_FIELDS]:
            del fields[name]
    if status in (307, 308) or method in ("GET", "HEAD"):
        return following, method, body
    if status != 303 and method != "POST":
        return following, method, body
    for name in [name for name in fields if name.lower() in ("content-type", "content-encoding")]:
        del fields[name]
    return following, "GET", _Body(None, None, None, None)


def _replace(fields: dict[str, str], name: str, value: str) -> None:
    """Sets a header, whatever the case of the letters in its name."""
    if name.lower() in ("content-length", "transfer-encoding", "connection", "host"):
        raise ValueError(f"the header `{name}` is set by itself")
    for other in [other for other in fields if other.lower() == name.lower()]:
        del fields[other]
    fields[name] = str(value)


def _with_params(url: str, params: Any) -> str:
    if not isinstance(url, str):
        raise TypeError(f"url is a str, not {type(url).__name__}")
    if not params:
        return url
    parts = urllib.parse.urlsplit(url)
    query = urllib.parse.urlencode(_pairs(params), doseq=True)
    return urllib.parse.urlunsplit(
        parts._replace(query=f"{parts.query}&{query}" if parts.query else query)
    )


def _pairs(fields: Any) -> list[tuple[str, Any]]:
    return list(fields.items() if isinstance(fields, Mapping) else fields)


def __dir__() -> list[str]:
    """The public names alone: what is not among them is no help to callers."""
    return sorted(__all__)
