"""A gateway made of Python, with servers behind it: what a run's requests for the network reach.

It answers the requests of `_wardian.network` byte for byte as the real one does. Nothing runs in the
background: what a server sends is a list of pieces, each with the time at which it arrives.
"""

from __future__ import annotations

import base64
import errno
import gzip
import json
import time
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

READ, WRITE = 1, 2
FOR_EVER = (1 << 32) - 1
HELLO = 0x16

Piece = bytes | OSError | None
"""Bytes, a broken connection, or its end."""

BAD_CERTIFICATES = {
    "self-signed.test": (18, "self-signed certificate"),
    "expired.test": (10, "certificate has expired"),
}


def reset() -> OSError:
    return OSError(errno.ECONNRESET, "Connection reset by peer")


class Request:
    """What a server was asked."""

    def __init__(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = first.split(" ")
        self.headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
        }
        self.path = urlsplit(self.target).path
        self.query = dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))
        self.body = bytearray()
        self._left = int(self.headers.get("content-length", 0))

    def take_body(self, inbox: bytearray) -> bool:
        """Moves what belongs to the body; true once that is all of it."""
        if self.headers.get("transfer-encoding") != "chunked":
            taken = min(self._left, len(inbox))
            self.body += inbox[:taken]
            del inbox[:taken]
            self._left -= taken
            return not self._left
        while (end := inbox.find(b"\r\n")) >= 0:
            size = int(inbox[:end], 16)
            if len(inbox) < end + 4 + size:
                return False
            self.body += inbox[end + 2 : end + 2 + size]
            del inbox[: end + 4 + size]
            if not size:
                return True
        return False


class Connection:
    """A handle, and what is on its way to the guest."""

    def __init__(self, name: str, port: int) -> None:
        self.name, self.port = name, port
        self.error = errno.ECONNREFUSED if name.startswith("refused") else 0
        delays = {"blackhole.test": None, "slow-connect.test": 0.1}
        delay = delays.get(name, 0)
        self.opens = None if delay is None else time.monotonic() + delay
        self.inbox = bytearray()
        self.request: Request | None = None
        self.arrivals: deque[tuple[float, Piece]] = deque()
        self.last = 0.0
        self.writable_at = 0.0
        self.is_over = self.is_shut = False
        self.tls: dict[str, Any] | None = None
        self.requests = 0

    def send(self, piece: Piece, delay: float = 0) -> None:
        self.last = max(time.monotonic(), self.last) + delay
        self.arrivals.append((self.last, piece))
        self.is_over = self.is_over or not isinstance(piece, bytes)

    def next_event(self, bit: int) -> float | None:
        if self.opens is None:
            return None
        if self.error or bit == WRITE:
            return max(self.opens, self.writable_at)
        return max(self.opens, self.arrivals[0][0]) if self.arrivals else None

    def take(self, size: int) -> bytes | None:
        """What has arrived: `None` if nothing has, no bytes at the end."""
        data = b""
        while self.arrivals and len(data) < size and self.arrivals[0][0] <= time.monotonic():
            when, piece = self.arrivals[0]
            if not isinstance(piece, bytes):
                if data:
                    break
                if piece is None:
                    return b""
                raise piece
            self.arrivals.popleft()
            room = size - len(data)
            if len(piece) > room:
                self.arrivals.appendleft((when, piece[room:]))
            data += piece[:room]
        return data or None

    def receive(self, data: bytes, answer: Callable[[Connection, Request], Iterator[Any]]) -> None:
        self.inbox += data
        while self.inbox and not self.is_over:
            if self.request is None:
                if self.inbox[0] == HELLO:
                    if not self._take_hello():
                        return
                    continue
                end = self.inbox.find(b"\r\n\r\n")
                if end < 0:
                    return
                self.request = Request(bytes(self.inbox[:end]))
                del self.inbox[: end + 4]
                if self.request.headers.get("expect") == "100-continue":
                    self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            if not self.request.take_body(self.inbox):
                return
            request, self.request = self.request, None
            self.requests += 1
            for item in answer(self, request):
                delay, piece = item if isinstance(item, tuple) else (0, item)
                self.send(piece, delay)

    def _take_hello(self) -> bool:
        length = int.from_bytes(self.inbox[1:5], "big")
        if len(self.inbox) < 5 + length:
            return False
        hello = json.loads(self.inbox[5 : 5 + length])
        del self.inbox[: 5 + length]
        if self.port == 80:
            self.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return True
        if self.name == "slow-handshake.test":
            return True
        answer = self._shake_hands(hello)
        text = json.dumps(answer).encode()
        self.send(bytes([HELLO]) + len(text).to_bytes(4, "big") + text)
        if "error" in answer:
            self.send(None)
        return True

    def _shake_hands(self, hello: dict[str, Any]) -> dict[str, Any]:
        self.tls = hello
        name = hello["server_hostname"] or self.name
        if hello["verify"] and name in BAD_CERTIFICATES:
            code, message = BAD_CERTIFICATES[name]
            return {"error": {"verify_code": code, "verify_message": message}}
        if name == "no-tls.test":
            return {"error": {"reason": "TLSV1_ALERT_PROTOCOL_VERSION", "message": "tlsv1 alert"}}
        return {
            "alpn": "http/1.1" if "http/1.1" in hello["alpn"] else None,
            "version": "TLSv1.2" if name == "tls12.test" else "TLSv1.3",
            "cipher": ["TLS_AES_256_GCM_SHA384", "TLSv1.3", 256],
            "certificate": {
                "der": base64.b64encode(b"certificate of " + name.encode()).decode(),
                "fields": {"subject": [[["commonName", name]]], "subjectAltName": [["DNS", name]]},
            },
        }


class Gateway:
    """Answers requests for the network."""

    def __init__(self) -> None:
        self.connections: dict[int, Connection] = {}
        self.calls: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.started: list[tuple[str, int]] = []

    def answer(self, request: bytes) -> bytes:
        name = {1: "resolve", 2: "start", 3: "poll", 4: "read", 5: "write", 6: "close"}[request[0]]
        self.calls[name] += 1
        try:
            return b"\0" + getattr(self, name)(request[1:])
        except OSError as error:
            text = (error.strerror or "").encode()
            return b"\1" + (error.errno or errno.EIO).to_bytes(2, "little") + text

    def resolve(self, payload: bytes) -> bytes:
        name = payload.decode()
        if name == "forbidden.test":
            raise OSError(errno.EACCES, "the skill may not reach `forbidden.test`")
        if name == "unsure.test":
            raise OSError(errno.EAGAIN, "the name servers do not answer")
        if not name.endswith(".test") or name == "nowhere.test":
            raise OSError(errno.ENOENT, "no such host")
        return b""

    def start(self, payload: bytes) -> bytes:
        port, name = int.from_bytes(payload[:2], "little"), payload[2:].decode()
        self.started.append((name, port))
        if name == "forbidden.test" or not name.endswith(".test"):
            raise OSError(errno.EACCES, f'`network = ["https://{name}"]` is missing in skill.toml')
        handle = len(self.started)
        self.connections[handle] = Connection(name, port)
        return handle.to_bytes(4, "little")

    def poll(self, payload: bytes) -> bytes:
        timeout = int.from_bytes(payload[:4], "little")
        parts = [payload[at : at + 5] for at in range(4, len(payload), 5)]
        assert all(len(part) == 5 and part[4] in (1, 2, 3) for part in parts), payload
        wishes = [(int.from_bytes(part[:4], "little"), part[4]) for part in parts]
        return bytes(self._wait(wishes, None if timeout == FOR_EVER else timeout / 1000))

    def _wait(self, wishes: list[tuple[int, int]], timeout: float | None) -> list[int]:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            now, ready, soonest = time.monotonic(), [], deadline
            for handle, mask in wishes:
                found = 0
                for bit in (READ, WRITE):
                    when = self.connections[handle].next_event(bit) if mask & bit else None
                    if when is not None and when <= now:
                        found |= bit
                    elif when is not None:
                        soonest = when if soonest is None else min(soonest, when)
                ready.append(found)
            if any(ready) or (deadline is not None and now >= deadline):
                return ready
            assert soonest is not None, "the test would wait for ever"
            time.sleep(max(soonest - now, 0))

    def read(self, payload: bytes) -> bytes:
        handle, size, timeout = (int.from_bytes(payload[at : at + 4], "little") for at in (0, 4, 8))
        assert len(payload) == 12 and 0 < size <= 1 << 20
        connection = self._connected(handle)
        data = connection.take(size)
        if data is None and timeout:
            self._wait([(handle, READ)], None if timeout == FOR_EVER else timeout / 1000)
            data = connection.take(size)
        if data is None:
            return b"\2"
        return b"\0" + data if data else b"\1"

    def write(self, payload: bytes) -> bytes:
        connection = self._connected(int.from_bytes(payload[:4], "little"))
        data = payload[4:]
        assert len(data) <= 1 << 18
        if data and connection.is_over and connection.arrivals[-1][0] <= time.monotonic():
            raise OSError(errno.EPIPE, "Broken pipe")
        if connection.writable_at > time.monotonic():
            return bytes(4)
        if data and connection.name == "slow-reader.test":
            data = data[: 64 << 10]
            connection.writable_at = time.monotonic() + 0.005
        connection.receive(data, self.serve)
        return len(data).to_bytes(4, "little")

    def close(self, payload: bytes) -> bytes:
        handle = int.from_bytes(payload[:4], "little")
        if payload[4]:
            self.connections[handle].is_shut = True
        else:
            del self.connections[handle]
        return b""

    def _connected(self, handle: int) -> Connection:
        connection = self.connections.get(handle)
        if connection is None:
            raise OSError(errno.EBADF, "Bad file descriptor")
        if connection.opens is None or connection.opens > time.monotonic():
            raise OSError(errno.ENOTCONN, "Socket is not connected")
        if connection.error:
            raise OSError(connection.error, "Connection refused")
        return connection

    # The servers

    def serve(self, connection: Connection, request: Request) -> Iterator[Any]:
        """What the servers send as an answer."""
        self.seen[request.path] += 1
        name, *rest = request.path.strip("/").split("/")
        server = getattr(self, f"serve_{name.replace('-', '_')}", None)
        if server is None:
            yield from self._reply(request, 404, b"no such page")
        else:
            yield from server(connection, request, *rest)
        is_last = request.headers.get("connection") == "close" and server != self.serve_hang
        if is_last and not connection.is_over:
            yield None

    def _reply(
        self, request: Request, status: int, body: bytes = b"", *fields: str
    ) -> Iterator[bytes]:
        lines = [f"HTTP/1.1 {status} Status", *fields, f"Content-Length: {len(body)}", "", ""]
        yield "\r\n".join(lines).encode() + (b"" if request.method == "HEAD" else body)

    def serve_echo(self, connection: Connection, request: Request) -> Iterator[bytes]:
        value = {
            "method": request.method,
            "headers": request.headers,
            "args": request.query,
            "body": request.body.decode("latin-1") if len(request.body) < 10_000 else "",
            "length": len(request.body),
            "tls": connection.tls,
            "nth": connection.requests,
        }
        kind = "Content-Type: application/json; charset=utf-8"
        return self._reply(request, 200, json.dumps(value).encode(), kind)

    def serve_bytes(self, _: Connection, request: Request, count: str) -> Iterator[bytes]:
        return self._reply(request, 200, bytes(i & 255 for i in range(int(count))))

    def serve_status(self, _: Connection, request: Request, code: str) -> Iterator[bytes]:
        return self._reply(request, int(code), b"status " + code.encode())

    def serve_redirect(self, _: Connection, request: Request, code: str) -> Iterator[bytes]:
        return self._reply(request, int(code), b"", f"Location: {request.query['to']}")

    def serve_delay(self, _: Connection, request: Request, seconds: str) -> Iterator[Any]:
        for piece in self._reply(request, 200, b"late"):
            yield float(seconds), piece

    def serve_text(self, _: Connection, request: Request) -> Iterator[bytes]:
        kind = "Content-Type: text/plain; charset=iso-8859-1"
        return self._reply(request, 200, "Grüße".encode("latin-1"), kind)

    def serve_packed(self, _: Connection, request: Request, coding: str) -> Iterator[bytes]:
        text = b"packed " * 30_000
        raw = zlib.compressobj(wbits=-15)
        packed = {
            "gzip": gzip.compress(text),
            "two-parts": gzip.compress(text[:7]) + gzip.compress(text[7:]),
            "deflate": zlib.compress(text),
            "raw": raw.compress(text) + raw.flush(),
            "torn": gzip.compress(text)[:-9],
            "damaged": gzip.compress(text)[:20] + b"damage" + gzip.compress(text)[26:],
        }[coding]
        shown = "deflate" if coding in ("deflate", "raw") else "gzip"
        return self._reply(request, 200, packed, f"Content-Encoding: {shown}")

    def serve_chunks(self, _: Connection, request: Request, count: str) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        for number in range(int(count)):
            yield b"7\r\nline %d\n\r\n" % number
        yield b"0\r\n\r\n"

    def serve_until_end(self, _: Connection, request: Request) -> Iterator[Any]:
        yield b"HTTP/1.1 200 OK\r\n\r\nuntil "
        yield 0.01, b"the end"
        yield None

    def serve_early_hints(self, _: Connection, request: Request) -> Iterator[bytes]:
        yield b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
        yield from self._reply(request, 200, b"late")

    def serve_hang(self, _: Connection, request: Request) -> Iterator[bytes]:
        yield from ()

    def serve_nothing(self, _: Connection, request: Request) -> Iterator[None]:
        yield None

    def serve_reset(self, _: Connection, request: Request) -> Iterator[OSError]:
        yield reset()

    def serve_garbage(self, _: Connection, request: Request) -> Iterator[Any]:
        yield b"this is not HTTP\r\n\r\n"
        yield None

    def serve_truncated(
        self, _: Connection, request: Request, form: str = "whole"
    ) -> Iterator[Any]:
        field = "Transfer-Encoding: chunked" if form == "chunks" else "Content-Length: 1000"
        content = "7\r\nline 0\n\r\n7\r\nli" if form == "chunks" else "0123456789"
        yield f"HTTP/1.1 200 OK\r\n{field}\r\n\r\n{content}".encode()
        yield None
