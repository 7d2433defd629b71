"""The requests of calls, and what their answers mean. No input or output happens here."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from wardian import _wire
from wardian._retry import retry_after
from wardian._wire import JsonObject
from wardian.errors import BadAnswer, CallError, ConnectionFailed, WardianError, error_of

DEFAULT_URL = "http://127.0.0.1:8080"
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
RETRIED = ("rate_limited", "overloaded")
EVENTS = "text/event-stream"

_ids = itertools.count(1)


def settings(url: str | None, api_key: str | None) -> tuple[str, dict[str, str]]:
    """The address of the server, and the headers of all requests."""
    address = url or os.environ.get("WARDIAN_URL") or DEFAULT_URL
    key = api_key or os.environ.get("WARDIAN_API_KEY")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return address.rstrip("/").removesuffix("/rpc"), headers


def timeouts(timeout: float | None) -> httpx.Timeout:
    """The time-outs of requests: a run may take as long as `timeout`, a connection may not."""
    return httpx.Timeout(timeout, connect=10.0, write=60.0)


@dataclass(frozen=True)
class Request:
    """A request that may be sent more than once."""

    method: str
    path: str
    is_repeatable: bool
    """Whether executing it twice is the same as executing it once."""
    body: bytes | None = None
    params: Mapping[str, str] | None = None
    headers: Mapping[str, str] | None = None


def call(method: str, params: Mapping[str, Any], *, events: bool = False) -> Request:
    """A call of a method."""
    body = {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": params}
    headers = {"content-type": "application/json", "accept": EVENTS if events else "application/json"}
    reads = method not in ("execute_skill", "run_code", "create_blob")
    is_repeatable = reads or params.get("idempotency_key") is not None
    return Request("POST", "/rpc", is_repeatable, _wire.print_json(body), headers=headers)


def get(path: str, **params: object) -> Request:
    """A request that reads."""
    found = {name: str(value) for name, value in params.items() if value is not None}
    return Request("GET", path, True, params=found)


def failure(response: httpx.Response) -> CallError | None:
    """The error of an answer whose body was read, if it is one."""
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
    message = f"the server answered with status {response.status_code}"
    return CallError(message, retry_after=delay, http_status=response.status_code)


def may_be_repeated(error: CallError) -> bool:
    """True if the error says that nothing was executed and that waiting helps."""
    is_busy = error.kind in RETRIED or (not error.kind and error.http_status in (429, 503))
    return is_busy and error.retry_after is not None


def result_of(response: httpx.Response) -> JsonObject:
    """The result of a call that was answered with JSON."""
    return result_in(response.content)


def result_in(text: str | bytes) -> JsonObject:
    """The result in a response of JSON-RPC."""
    body = _wire.as_object(_wire.parse(text), "answer")
    if body.get("error") is not None:
        raise error_of(body["error"], 200, None)
    return _wire.as_object(body.get("result"), "result")


def object_of(response: httpx.Response) -> JsonObject:
    """The object that an answer consists of."""
    return _wire.as_object(_wire.parse(response.content), "answer")


def connection_error(fault: httpx.TransportError, url: str) -> WardianError:
    """The error for a fault of the connection."""
    was_sent = not isinstance(fault, NOT_SENT)
    what = "the connection broke" if was_sent else "no connection was made"
    reason = str(fault) or type(fault).__name__
    return ConnectionFailed(f"{url}: {what}: {reason}", was_sent=was_sent)
