# Made from `_async/transport.py` by `generate.py`: change that file, not this one.
"""Sends requests, and repeats those that may be repeated."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Callable
from contextlib import contextmanager

import httpx

from wardian import _calls
from wardian._sync_io import sleep
from wardian._calls import Request
from wardian._retry import Patience, RetryPolicy

Content = Callable[[], "Iterator[bytes]"]
"""Makes the body of a request anew each time that it is sent."""


class Transport:
    """The connections to one server."""

    def __init__(self, http: httpx.Client, url: str, retry: RetryPolicy) -> None:
        self.http = http
        self.url = url
        self._retry = retry

    def send(self, request: Request, content: Content | None = None) -> httpx.Response:
        """Sends a request and reads the answer. A refusal is raised as its error."""
        with self.stream(request, content) as response:
            response.read()
            return response

    @contextmanager
    def stream(
        self, request: Request, content: Content | None = None
    ) -> Generator[httpx.Response, None, None]:
        """As `send`, for an answer whose body is read by the caller."""
        patience = Patience(self._retry)
        while True:
            try:
                response = self._send_once(request, content)
            except httpx.TransportError as fault:
                may_repeat = request.is_repeatable or isinstance(fault, _calls.NOT_SENT)
                pause = patience.pause() if may_repeat else None
                if pause is None:
                    raise _calls.connection_error(fault, self.url) from fault
                sleep(pause)
                continue
            try:
                pause = self._pause_after(response, patience)
                if pause is None:
                    yield response
                    return
            except httpx.TransportError as fault:
                raise _calls.connection_error(fault, self.url) from fault
            finally:
                response.close()
            sleep(pause)

    def _send_once(self, request: Request, content: Content | None) -> httpx.Response:
        sent = self.http.build_request(
            request.method,
            self.url + request.path,
            content=content() if content is not None else request.body,
            params=request.params,
            headers=request.headers,
        )
        return self.http.send(sent, stream=True)

    def _pause_after(self, response: httpx.Response, patience: Patience) -> float | None:
        """The pause before the request is sent again. An answer that stays is not read, an error
        is raised."""
        if response.is_success and _calls.EVENTS in response.headers.get("content-type", ""):
            return None
        is_refusal = not response.is_success and response.status_code != 304
        if not is_refusal and response.request.url.path != "/rpc":
            return None
        response.read()
        error = _calls.failure(response)
        if error is None:
            return None
        pause = patience.pause(error.retry_after) if _calls.may_be_repeated(error) else None
        if pause is None:
            raise error
        return pause
