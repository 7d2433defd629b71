"""Sends requests, and repeats those that may be repeated."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx

from wardian import _calls
from wardian._async_io import sleep
from wardian._calls import Request, Server
from wardian._retry import Patience, RetryPolicy
from wardian.errors import ConnectionFailed

Content = Callable[[], "AsyncIterator[bytes]"]
"""Creates the body of a request. Called each time that the request is sent."""


class AsyncTransport:
    """The connections to one server."""

    def __init__(self, http: httpx.AsyncClient, server: Server, retry: RetryPolicy) -> None:
        self._http = http
        self._server = server
        self._retry = retry

    async def send(self, request: Request, content: Content | None = None) -> httpx.Response:
        """Sends a request and reads the answer. Raises the error of a refused request."""
        async with self.stream(request, content) as response:
            with _calls.connection_errors(self._server.shown):
                await response.aread()
            return response

    @asynccontextmanager
    async def stream(
        self, request: Request, content: Content | None = None
    ) -> AsyncGenerator[httpx.Response]:
        """Like `send`, but `pieces` reads the body of the answer."""
        response = await self._open(request, content)
        try:
            yield response
        finally:
            await response.aclose()

    async def pieces(self, response: httpx.Response) -> AsyncIterator[bytes]:
        """The body of an answer. Connection errors are converted here, not around the block that
        reads the pieces: that block may raise errors of other connections."""
        with _calls.connection_errors(self._server.shown):
            async for piece in response.aiter_bytes():
                yield piece

    async def _open(self, request: Request, content: Content | None) -> httpx.Response:
        """The first answer after which the request is not sent again."""
        patience = Patience(_calls.policy_of(request, self._retry))
        while True:
            try:
                response = await self._send_once(request, content)
            except httpx.RequestError as fault:
                pause = patience.pause() if _calls.repeats(request, fault) else None
                if pause is None:
                    raise _calls.connection_error(fault, self._server.shown) from fault
                await sleep(pause)
                continue
            try:
                with _calls.connection_errors(self._server.shown):
                    pause = await self._pause_after(response, patience)
            except BaseException:
                await response.aclose()
                raise
            if pause is None:
                return response
            await response.aclose()
            await sleep(pause)

    async def _send_once(self, request: Request, content: Content | None) -> httpx.Response:
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
        return await self._http.send(sent, stream=True)

    async def _pause_after(self, response: httpx.Response, patience: Patience) -> float | None:
        """The pause before the request is sent again, or none. Raises the error of a refusal that
        is not repeated. The body of a download or of a stream of events stays unread."""
        if response.is_success and _calls.EVENTS in response.headers.get("content-type", ""):
            return None
        is_refusal = not response.is_success and response.status_code != 304
        if not is_refusal and not response.request.url.path.endswith("/rpc"):
            return None
        await response.aread()
        error = _calls.failure(response)
        if error is None:
            return None
        pause = patience.pause(error.retry_after) if _calls.may_be_repeated(error) else None
        if pause is None:
            raise error
        return pause
