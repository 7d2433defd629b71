# Made from `_async/transport.py` by `generate.py`: change that file, not this one.
"""Sends requests, and repeats those that may be repeated."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Callable
from contextlib import contextmanager

import httpx

from wardian import _calls
from wardian._sync_io import sleep
from wardian._calls import Request, Server
from wardian._retry import Patience, RetryPolicy
from wardian.errors import ConnectionFailed

Content = Callable[[], "Iterator[bytes]"]
"""Creates the body of a request. Called each time that the request is sent."""


class Transport:
    """The connections to one server."""

    def __init__(self, http: httpx.Client, server: Server, retry: RetryPolicy) -> None:
        self._http = http
        self._server = server
        self._retry = retry

    def send(self, request: Request, content: Content | None = None) -> httpx.Response:
        """Sends a request and reads the answer. Raises the error of a refused request."""
        with self.stream(request, content) as response:
            with _calls.connection_errors(self._server.shown):
                response.read()
            return response

    @contextmanager
    def stream(
        self, request: Request, content: Content | None = None
    ) -> Generator[httpx.Response, None, None]:
        """Like `send`, but `pieces` reads the body of the answer."""
        response = self._open(request, content)
        try:
            yield response
        finally:
            response.close()

    def pieces(self, response: httpx.Response) -> Iterator[bytes]:
        """The body of an answer. Connection errors are converted here, not around the block that
        reads the pieces: that block may raise errors of other connections."""
        with _calls.connection_errors(self._server.shown):
            for piece in response.iter_bytes():
                yield piece

    def _open(self, request: Request, content: Content | None) -> httpx.Response:
        """The first answer after which the request is not sent again."""
        patience = Patience(_calls.policy_of(request, self._retry))
        while True:
            try:
                response = self._send_once(request, content)
            except httpx.RequestError as fault:
                pause = patience.pause() if _calls.repeats(request, fault) else None
                if pause is None:
                    raise _calls.connection_error(fault, self._server.shown) from fault
                sleep(pause)
                continue
            try:
                with _calls.connection_errors(self._server.shown):
                    pause = self._pause_after(response, patience)
            except BaseException:
                response.close()
                raise
            if pause is None:
                return response
            response.close()
            sleep(pause)

    def _send_once(self, request: Request, content: Content | None) -> httpx.Response:
        if self._http.is_closed:
            raise ConnectionFailed("the client is closed", was_sent=False)
        # The request has the key and the timeouts: the httpx client may belong to the caller, who
        # also uses it for other servers.
        sent = self._http.build_request(
            request.method,
            self._server.url + request.path,
            content=content() if content is not None else request.body,
            params=request.params,
            headers={**self._server.headers, **(request.headers or {})},
            timeout=self._server.timeouts(request),
        )
        return self._http.send(sent, stream=True)

    def _pause_after(self, response: httpx.Response, patience: Patience) -> float | None:
        """The pause before the request is sent again, or none. Raises the error of a refusal that
        is not repeated. The body of a download or of a stream of events stays unread."""
        if response.is_success and _calls.EVENTS in response.headers.get("content-type", ""):
            return None
        is_refusal = not response.is_success and response.status_code != 304
        if not is_refusal and not response.request.url.path.endswith("/rpc"):
            return None
        response.read()
        error = _calls.failure(response)
        if error is None:
            return None
        pause = patience.pause(error.retry_after) if _calls.may_be_repeated(error) else None
        if pause is None:
            raise error
        return pause
