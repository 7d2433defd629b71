"""Builds the requests of calls and interprets their answers. Does no I/O."""

from __future__ import annotations

import itertools
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

import httpx

from wardian import _inputs, _wire
from wardian._retry import RetryPolicy, retry_after
from wardian._wire import JsonObject
from wardian.errors import (
    STATUS_CLASSES,
    BadAnswer,
    CallError,
    ConnectionFailed,
    InvalidParams,
    InvalidSetting,
    NotJson,
    WardianError,
    error_of,
)
from wardian.results import Blob

DEFAULT_URL = "http://127.0.0.1:8080"
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
RETRIED = ("rate_limited", "overloaded")
EVENTS = "text/event-stream"

LONGEST_GOODBYE = 5.0
"""Seconds that a call which ends early takes to end its run, at most."""

_ids = itertools.count(1)


@dataclass(frozen=True)
class Server:
    """The address of a server, and what all its requests share."""

    url: str = field(repr=False)
    shown: str
    """The address for messages, without a password."""
    headers: Mapping[str, str] = field(repr=False)
    timeout: float | None

    def timeouts(self, request: Request) -> httpx.Timeout:
        """The timeouts of a request. `timeout` limits a run; connecting has a shorter limit."""
        if request.within is not None:
            return httpx.Timeout(request.within)
        read = None if self.timeout is None else self.timeout + request.waits
        return httpx.Timeout(self.timeout, connect=10.0, write=60.0, read=read)


def settings(url: str | None, api_key: str | None, timeout: float | None) -> Server:
    """The server, from the parameters of a client and the environment."""
    address = (url or os.environ.get("WARDIAN_URL") or DEFAULT_URL).strip()
    address = address.rstrip("/").removesuffix("/rpc")
    key = (api_key or os.environ.get("WARDIAN_API_KEY") or "").strip()
    # Messages end up in logs, so none contains the key.
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise InvalidSetting("the key has characters that no key has: is it complete, and only it?")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return Server(address, _shown(address), headers, timeout)


def _shown(address: str) -> str:
    """The address without user and password. Refuses an address that is not usable."""
    try:
        parsed = httpx.URL(address)
    except httpx.InvalidURL:
        # The reason may quote part of a password.
        raise InvalidSetting("the URL of the server is not valid") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidSetting(f"the URL of the server must be like `{DEFAULT_URL}`")
    if parsed.query or parsed.fragment:
        raise InvalidSetting("the URL of the server must not have a query or a fragment")
    return str(parsed.copy_with(username=None, password=None)).rstrip("/")


@dataclass(frozen=True)
class Request:
    """A request that may be sent more than once."""

    method: str
    path: str
    is_repeatable: bool
    """Whether executing it twice has the same effect as executing it once."""
    body: bytes | None = None
    params: Mapping[str, str] | None = None
    headers: Mapping[str, str] | None = None
    waits: float = 0.0
    """Seconds that the server may wait before it answers."""
    within: float | None = None
    """Seconds that each step of the request may take, if that is less than usual."""


def call(
    method: str,
    params: Mapping[str, Any],
    *,
    events: bool = False,
    stored: Mapping[int, str] | None = None,
) -> Request:
    """A call of a method. `stored` maps the `id()` of a stored value to the id of its blob."""
    envelope = {"jsonrpc": "2.0", "id": next(_ids), "method": method}
    headers = {"content-type": "application/json", "accept": EVENTS if events else "application/json"}
    reads = method not in ("execute_skill", "run_code", "create_blob")
    is_repeatable = reads or params.get("idempotency_key") is not None
    return Request("POST", "/rpc", is_repeatable, _printed(params, stored or {}, envelope), headers=headers)


def abandoning(session_id: str) -> Request:
    """The call that ends what waits in a session. It is sent on the way out, so it takes little time."""
    code = {"language": "python", "code": "", "session": session_id, "abandon": True}
    return replace(call("run_code", code), within=LONGEST_GOODBYE)


def closing(session_id: str) -> Request:
    """The request that closes a session on the way out."""
    return Request("DELETE", session_path(session_id), True, within=LONGEST_GOODBYE)


def check(params: Mapping[str, Any]) -> None:
    """Raises `NotJson` if the parameters can neither be sent nor stored as blobs."""
    _printed(params, None)


def _printed(
    params: Mapping[str, Any],
    stored: Mapping[int, str] | None,
    envelope: Mapping[str, object] | None = None,
) -> bytes:
    """The parameters as JSON, as those of the call `envelope` if there is one."""
    try:
        plain = _inputs.plain(params, stored)
        return _wire.print_json(plain if envelope is None else {**envelope, "params": plain})
    except RecursionError as fault:
        raise NotJson("the parameters are nested too deeply") from fault
    except NotJson:
        raise
    except (TypeError, ValueError) as fault:
        # Keys that are not strings raise a `TypeError`.
        raise NotJson(f"the parameters are not JSON: {fault}") from fault


def blob_path(blob_id: str | Blob) -> str:
    """The path of a blob."""
    return f"/v1/blobs/{segment('blob_id', str(blob_id))}"


def run_path(run_id: str) -> str:
    """The path of a run."""
    # `/v1/runs/active` is the list of runs in progress.
    if run_id == "active":
        raise InvalidParams("`active` is not the id of a run", parameter="run_id")
    return f"/v1/runs/{segment('run_id', run_id)}"


def as_unicode(text: str) -> str:
    """The text with `?` in place of lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


def segment(name: str, value: str) -> str:
    """One segment of a path. Ids may come from untrusted programs, and must not lead elsewhere."""
    # Dots cannot be escaped in a URL.
    if value in ("", ".", ".."):
        raise InvalidParams(f"`{value}` is not an id", parameter=name)
    return quote(value, safe="", errors="replace")


def session_path(session_id: str) -> str:
    """The path of a session."""
    return f"/v1/sessions/{segment('session_id', session_id)}"


def post(path: str, body: Mapping[str, Any], *, is_repeatable: bool) -> Request:
    """A request with a body of JSON. Raises `NotJson` for a value that JSON cannot represent."""
    headers = {"content-type": "application/json"}
    return Request("POST", path, is_repeatable, _printed(body, {}), headers=headers)


def get(path: str, **params: object) -> Request:
    """A request that reads."""
    found = {name: str(value) for name, value in params.items() if value is not None}
    return Request("GET", path, True, params=found)


def failure(response: httpx.Response) -> CallError | None:
    """The error in an answer whose body was read, if it has one."""
    delay = retry_after(response.headers)
    body: JsonObject = {}
    if "json" in response.headers.get("content-type", ""):
        try:
            body = _wire.as_object(_wire.parse(response.content), "answer")
        except BadAnswer:
            body = {}
    if body.get("error") is not None:
        return error_of(body["error"], response.status_code, delay)
    if response.is_success:
        return None
    if _is_foreign(response):
        raise BadAnswer(
            f"the server answered with status {response.status_code}, but not with an error of "
            "Wardian: is this the URL of a Wardian server?"
        )
    return STATUS_CLASSES.get(response.status_code, CallError)(
        f"the server answered with status {response.status_code}",
        request_id=response.headers.get("x-request-id"),
        retry_after=delay,
        http_status=response.status_code,
    )


def _is_foreign(response: httpx.Response) -> bool:
    """True for a refusal that neither a Wardian server nor a proxy before one sends. A server
    identifies the request; the status of a proxy means that the server cannot be reached or that
    the caller is not allowed."""
    status = response.status_code
    is_of_a_proxy = status in STATUS_CLASSES or (status >= 500 and status != 501)
    # An answer to `HEAD` has no body for the error.
    is_told = response.request.method == "HEAD" or "x-request-id" in response.headers
    return not is_of_a_proxy and not is_told


def may_be_repeated(error: CallError) -> bool:
    """True if the error says that nothing was executed and that waiting helps."""
    return error.kind in RETRIED and error.retry_after is not None


def result_of(response: httpx.Response) -> JsonObject:
    """The result of a call that was answered with JSON."""
    return result_in(response.content)


def result_in(text: str | bytes) -> JsonObject:
    """The result in a JSON-RPC response."""
    body = _wire.as_object(_wire.parse(text), "answer")
    if body.get("error") is not None:
        raise error_of(body["error"], 200, None)
    return _wire.as_object(body.get("result"), "result")


def object_of(response: httpx.Response) -> JsonObject:
    """The object that an answer consists of."""
    return _wire.as_object(_wire.parse(response.content), "answer")


def policy_of(request: Request, usual: RetryPolicy) -> RetryPolicy:
    """How often and how long a request is repeated. One that takes little time is not repeated for long."""
    if request.within is None:
        return usual
    return replace(usual, longest_wait=min(usual.longest_wait, request.within))


def repeats(request: Request, fault: httpx.RequestError) -> bool:
    """True if the request may be sent again after this fault."""
    if request.within is not None:
        return False
    # The same request would violate the protocol again.
    if isinstance(fault, (httpx.LocalProtocolError, httpx.UnsupportedProtocol)):
        return False
    return request.is_repeatable or isinstance(fault, NOT_SENT)


@contextmanager
def connection_errors(url: str) -> Generator[None, None, None]:
    """Converts connection errors to errors of this package."""
    try:
        yield
    except httpx.RequestError as fault:
        raise connection_error(fault, url) from fault


def connection_error(fault: httpx.RequestError, url: str) -> WardianError:
    """The error of this package for a connection error."""
    if not isinstance(fault, httpx.TransportError):
        return BadAnswer(f"{url}: the answer cannot be read: {fault}")
    was_sent = not isinstance(fault, NOT_SENT)
    what = "the connection broke" if was_sent else "no connection was made"
    reason = str(fault) or type(fault).__name__
    return ConnectionFailed(f"{url}: {what}: {reason}", was_sent=was_sent)
