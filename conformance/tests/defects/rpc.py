"""Defects of JSON-RPC."""

from ..refused import Refused
from ..stand_in import METHODS
from .spoil import after, changed, defect, refusing_with, simple, without

simple(
    "results with HTTP 201",
    ["rpc.endpoint"],
    "status_of",
    lambda status, answer: 201 if "result" in answer else 200,
)
simple("answers as text/plain", ["rpc.content-type"], "content_type", lambda kind: "text/plain")
simple(
    "errors with HTTP 400",
    ["rpc.http-200-for-errors"],
    "status_of",
    lambda status, answer: 400 if "error" in answer else 200,
)


@defect("a method that is missing", "rpc.methods", "rpc.params-invalid")
def _(server):
    def call(right, method, params):
        if method == "create_blob" and not params:
            raise Refused(-32601, "method_not_found", "no such method")
        return right(method, params)

    right = server.call
    server.call = lambda method, params: call(right, method, params)


simple(
    "results of version 1.0",
    ["rpc.version"],
    "response",
    lambda response, *_: changed(response, jsonrpc="1.0"),
)
simple(
    "errors without version", ["rpc.version"], "refusal", lambda response, *_: without(response, "jsonrpc")
)
simple(
    "ids of digits become numbers",
    ["rpc.id-string"],
    "response",
    lambda response, *_: (
        changed(response, id=int(response["id"])) if str(response["id"]) == "7" else response
    ),
)
simple(
    "ids of numbers become texts",
    ["rpc.id-number", "rpc.batch-notification", "ext.events"],
    "response",
    lambda response, *_: (
        changed(response, id=str(response["id"])) if isinstance(response["id"], int) else response
    ),
)


@defect("a null id is taken for a notification", "rpc.id-null")
def _(server):
    server.is_notification = lambda request: request.get("id") is None


simple(
    "errors without their id",
    ["rpc.id-of-error", "rpc.batch"],
    "refusal",
    lambda response, *_: changed(response, id=None),
)
simple(
    "results with a null error",
    ["rpc.result-alone", "rpc.batch-invalid", "execute.failed-is-result"],
    "response",
    lambda response, *_: changed(response, error=None),
)
simple(
    "errors with a null result",
    ["rpc.error-alone"],
    "refusal",
    lambda response, *_: changed(response, result=None),
)


@defect("codes that are no integers", "rpc.error-code")
def _(server):
    refusing_with(server, "method_not_found", code=-32601.0)


@defect("codes as texts", "rpc.error-code", "rpc.error-code-reserved", "rpc.method-unknown", "rpc.batch")
def _(server):
    refusing_with(server, "method_not_found", code="-32601")


@defect("empty messages", "rpc.error-message")
def _(server):
    refusing_with(server, "skill_not_found", message="")


@defect("messages that are traces", "rpc.error-message-short")
def _(server):
    refusing_with(server, "blob_not_found", message='Traceback (most recent call last):\n  File "server.py"')


@defect("codes that are reserved", "rpc.error-code-reserved")
def _(server):
    refusing_with(server, "skill_not_found", code=-32500)


@defect("another code for unknown methods", "rpc.method-unknown", "rpc.batch")
def _(server):
    refusing_with(server, "method_not_found", code=-32600)


@defect("another code for what is not JSON", "rpc.parse-error", "rpc.batch-broken")
def _(server):
    refusing_with(server, "parse_error", code=-32603)


@defect("an invented id for what is not JSON", "rpc.parse-error-id")
def _(server):
    after(
        server,
        "refusal",
        lambda response, id, refused: changed(response, id=0) if refused.kind == "parse_error" else response,
    )


@defect("no id for what is not JSON", "rpc.parse-error-id")
def _(server):
    after(
        server,
        "refusal",
        lambda response, id, refused: without(response, "id") if refused.kind == "parse_error" else response,
    )


def checking(name, cases, change):
    """A defect in the check of requests: `change(request)` may refuse or return another request."""

    def spoil(server):
        right = server.check

        def check(request):
            right(change(request))

        server.check = check

    defect(name, *cases)(spoil)


def no_object_is_no_json(request):
    if not isinstance(request, dict):
        raise Refused(-32700, "parse_error", "this is no object")
    return request


def no_method_is_unknown(request):
    if isinstance(request, dict) and request.get("jsonrpc") and not isinstance(request.get("method"), str):
        raise Refused(-32601, "method_not_found", "there is no such method")
    return request


def params_are_needed(request):
    is_call = isinstance(request, dict) and request.get("id") is not None
    if is_call and request.get("method") in METHODS and "params" not in request:
        raise Refused(-32602, "invalid_params", "`params` are missing")
    return request


checking(
    "JSON that is no object is taken for no JSON",
    ["rpc.request-number", "rpc.batch-invalid"],
    no_object_is_no_json,
)
checking("no method is an unknown one", ["rpc.request-without-method"], no_method_is_unknown)
checking(
    "any version of JSON-RPC",
    ["rpc.request-version"],
    lambda request: (
        changed(request, jsonrpc="2.0") if isinstance(request, dict) and "id" in request else request
    ),
)
checking(
    "any id",
    ["rpc.request-id"],
    lambda request: without(request, "id") if isinstance(request, dict) else request,
)
checking("`params` are needed", ["rpc.params-left-out", "guide.no-params"], params_are_needed)


@defect("wrong `params` are taken for none", "rpc.params-text")
def _(server):
    right = server.call
    server.call = lambda method, params: right(method, {} if isinstance(params, (str, int)) else params)


@defect("`params` by position", "rpc.params-array")
def _(server):
    right = server.call
    server.call = lambda method, params: right(
        method, {"name": params[0]} if isinstance(params, list) else params
    )


@defect("another code for wrong parameters", "rpc.params-invalid", "rpc.params-text", "ext.unknown-parameter")
def _(server):
    refusing_with(server, "invalid_params", code=-32000)


def answering_notifications(name, cases, is_answered):
    """A defect that answers notifications."""

    def spoil(server):
        server.is_notification = lambda request: "id" not in request and not is_answered(request)
        right = server.one

        def one(request):
            if (
                isinstance(request, dict)
                and "id" not in request
                and "method" in request
                and is_answered(request)
            ):
                return {**right({**request, "id": 0}), "id": None}
            return right(request)

        server.one = one

    defect(name, *cases)(spoil)


answering_notifications(
    "notifications are answered",
    ["rpc.notification", "rpc.notification-wrong", "rpc.batch-notification", "rpc.batch-of-notifications"],
    lambda request: True,
)
answering_notifications(
    "wrong notifications are answered",
    ["rpc.notification-wrong"],
    lambda request: request["method"] not in METHODS,
)


@defect(
    "no batches",
    *("rpc.batch", "rpc.batch-invalid", "rpc.batch-notification", "rpc.batch-of-notifications"),
)
def _(server):
    server.batch = lambda values: server.refusal(None, Refused(-32600, "invalid_request", "no batches"))


simple(
    "a batch without its invalid requests",
    ["rpc.batch-invalid"],
    "batch_of",
    lambda responses, _: [one for one in responses or [] if one["id"] is not None] or None,
)
simple(
    "a batch of notifications gives an empty array",
    ["rpc.batch-of-notifications"],
    "batch_of",
    lambda responses, _: responses or [],
)


@defect(
    "a batch is answered by its first response", "rpc.batch", "rpc.batch-invalid", "rpc.batch-notification"
)
def _(server):
    after(server, "batch_of", lambda responses, _: responses[0] if responses else None)


@defect("an empty batch gives an empty array", "rpc.batch-empty")
def _(server):
    right = server.batch
    server.batch = lambda values: right(values) if values else []


@defect("a broken batch gives an array", "rpc.batch-broken")
def _(server):
    after(
        server,
        "answer",
        lambda answer, body: [answer] if body.startswith(b"[{") and isinstance(answer, dict) else answer,
    )
