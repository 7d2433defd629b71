"""A server that answers as a test says: for refusals, broken connections, and models."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """One answer."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=lambda: {})
    breaks: bool = False
    """Whether the connection breaks instead."""
    content: bytes | None = None
    """The bytes of the body, where it is no JSON."""
    delay: float = 0.0
    """Seconds before the answer."""
    stalls: bool = False
    """Whether the end of the body never comes."""


@dataclass
class Seen:
    """One request that came."""

    method: str
    path: str
    body: Any
    headers: dict[str, str]


class ScriptedServer:
    """Answers requests in order, the last answer again and again."""

    def __init__(self, answers: list[Answer] | Callable[[Seen], Answer]) -> None:
        self.seen: list[Seen] = []
        self._ended = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                text = self.rfile.read(length)
                headers = {name.lower(): value for name, value in self.headers.items()}
                is_json = text and headers.get("content-type") == "application/json"
                body = json.loads(text) if is_json else text
                seen = Seen(self.command, self.path, body, headers)
                owner.seen.append(seen)
                if callable(answers):
                    answer = answers(seen)
                else:
                    answer = answers[min(len(owner.seen), len(answers)) - 1]
                if answer.breaks:
                    self.close_connection = True
                    self.connection.close()
                    return
                owner.wait(answer.delay)
                content = answer.content
                if content is None:
                    content = json.dumps(answer.body).encode()
                self.send_response(answer.status)
                for name, value in {"content-type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content) + answer.stalls))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)
                if answer.stalls:
                    owner.wait(60.0)

            do_GET = do_HEAD = do_PUT = do_DELETE = do_POST

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """A connection that breaks on purpose is no error."""

        self._http = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def __enter__(self) -> ScriptedServer:
        return self

    def wait(self, seconds: float) -> None:
        """Waits, but no longer than this server lives."""
        self._ended.wait(seconds)

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def result(value: Any) -> Answer:
    """The answer to a call that succeeds."""
    return Answer(body={"jsonrpc": "2.0", "id": 1, "result": value})


def refusal(status: int, kind: str, retry_after_ms: int | None = None) -> Answer:
    """The answer to a call that is refused."""
    data: dict[str, Any] = {"kind": kind}
    headers: dict[str, str] = {}
    if retry_after_ms is not None:
        data["retry_after_ms"] = retry_after_ms
        headers["retry-after"] = str(-(-retry_after_ms // 1_000))
    error = {"code": 1004, "message": "busy", "data": data}
    return Answer(status, {"jsonrpc": "2.0", "id": 1, "error": error}, headers)
