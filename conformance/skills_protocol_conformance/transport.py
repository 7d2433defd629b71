"""Requests over HTTP, one connection each: the protocol has no sessions."""

import http.client
import socket
import ssl
from dataclasses import dataclass
from typing import Dict, Optional
from urllib.parse import urlsplit

# The most that is read of an answer, in bytes.
LARGEST_ANSWER = 64 << 20


class Unreachable(Exception):
    """The server gave no answer."""


@dataclass(frozen=True)
class Reply:
    """The answer to a request."""

    status: int
    headers: Dict[str, str]
    body: bytes


class HttpTransport:
    """Sends requests to a server."""

    def __init__(
        self, url: str, timeout: float, key: Optional[str] = None, other_key: Optional[str] = None
    ) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"`{url}` is no URL of a server, such as http://127.0.0.1:8080/rpc")
        self.is_secure = parts.scheme == "https"
        self.host = parts.hostname
        self.port = parts.port or (443 if self.is_secure else 80)
        self.path = parts.path if parts.path not in ("", "/") else "/rpc"
        self.timeout = timeout
        self._key = key
        # The same server as another tenant sees it, if the suite has a key of one.
        self.other = HttpTransport(url, timeout, other_key) if other_key else None

    @property
    def url(self) -> str:
        """The address of the protocol's endpoint."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.is_secure else ''}://{host}:{self.port}{self.path}"

    def request(self, verb: str, path: str, headers: Dict[str, str], body: bytes) -> Reply:
        """Sends one request and reads the whole answer."""
        if self._key:
            headers = {**headers, "Authorization": f"Bearer {self._key}"}
        if self.is_secure:
            context = ssl.create_default_context()
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                self.host, self.port, timeout=self.timeout, context=context
            )
        else:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)
        try:
            connection.request(verb, path, body or None, headers)
            answer = connection.getresponse()
            lowered = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, lowered, answer.read(LARGEST_ANSWER))
        except (OSError, http.client.HTTPException) as error:
            why = f"no answer within {self.timeout:g} s" if isinstance(error, socket.timeout) else error
            raise Unreachable(f"{self.url}: {why or type(error).__name__}") from error
        finally:
            connection.close()
