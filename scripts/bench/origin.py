"""A server for the programs that use the network, and the proxy through which guests reach it.

A guest reaches no loopback address. So its server passes all connections to a proxy, which is this
server: it answers `CONNECT` and goes on with the requests inside, without a further hop.
"""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

NAME = "origin.example"
"""The host of the programs' URLs. Nobody looks it up: the proxy leads to the server by any name."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Without it, the head of a response waits for the acknowledgement of the one before.
    disable_nagle_algorithm = True

    def do_CONNECT(self) -> None:
        """Begins a tunnel, which leads to this handler."""
        self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

    def do_GET(self) -> None:
        """Answers `/SIZE?delay=SECONDS` with that many bytes, after the delay."""
        target = urlsplit(self.path)
        time.sleep(float(parse_qs(target.query).get("delay", ["0"])[0]))
        body = b"x" * int(target.path.removeprefix("/"))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing of single requests."""


class _Server(ThreadingHTTPServer):
    # With the usual five, a client of ten connections waits a second for the system's next try.
    request_queue_size = 64


class Origin:
    """The server, in threads of this process. Ends with the process."""

    def __init__(self) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._server.server_port}"

    def settings(self) -> list[str]:
        """What a server needs so that `run_code` reaches this one."""
        granted = f"network.code=http://{NAME}"
        return ["--set", f"network.proxy=http://{self.address}", "--set", granted]
