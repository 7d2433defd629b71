"""JSON-RPC 2.0 over HTTP: requests, responses, errors, notifications and batches."""

import json

from ..case import (
    CLIENT,
    CONVENTIONS,
    JSON_RPC,
    MUST,
    SCHEMAS,
    SHOULD,
    TOOLS,
    case,
    expect,
    expect_equal,
    shown,
)

METHODS = (
    "list_skills",
    "describe_skill",
    "read_skill_file",
    "execute_skill",
    "run_code",
    "create_blob",
    "read_blob",
    "load_skills_protocol_guide",
)

RESPONSE = "5 Response object"
ERROR = "5.1 Error object"
BATCH = "6 Batch"

# Any cheap call that succeeds, and one that does not.
GOOD = {"jsonrpc": "2.0", "id": 1, "method": "list_skills", "params": {"limit": 1}}
UNKNOWN = {"jsonrpc": "2.0", "id": 2, "method": "no_such_method"}


def error_of(response):
    """The error object of a response."""
    expect(isinstance(response, dict), f"the answer is one response object, got {shown(response)}")
    error = response.get("error")
    expect(isinstance(error, dict), f"the response has an `error`, got {shown(response)}")
    return error


def expect_code(response, code):
    """Checks the code of an error."""
    expect_equal(error_of(response).get("code"), code, "`error.code`")


@case("rpc.endpoint", MUST, SCHEMAS("Overview", "All tools use JSON-RPC 2.0 over HTTP at a single endpoint"))
def endpoint(session):
    """POST of a request is answered with HTTP 200 and a response object in JSON."""
    reply = session.send(json.dumps(GOOD).encode())
    expect_equal(reply.status, 200, "the HTTP status")
    expect(isinstance(session.json_of(reply), dict), "the body is a response object")


@case("rpc.content-type", SHOULD, CONVENTIONS("Transport", "Bodies are of the type `application/json`."))
def content_type(session):
    """The answer has the content type `application/json`."""
    kind = session.send(json.dumps(GOOD).encode()).headers.get("content-type", "")
    expect(kind.split(";")[0].strip().lower() == "application/json", f"application/json, got {kind!r}")


@case(
    "rpc.methods", MUST, TOOLS("Introduction", "The Skills Protocol exposes exactly 8 tools to LLM agents.")
)
def methods(session):
    """Each of the eight methods exists: none is answered with -32601."""
    for method in METHODS:
        error = session.respond(method, {}).get("error") or {}
        expect(error.get("code") != -32601, f"the method `{method}` exists")


@case("rpc.version", MUST, JSON_RPC(RESPONSE, 'MUST be exactly "2.0".'))
def version(session):
    """The response has `jsonrpc` \"2.0\"."""
    expect_equal(session.send_json(GOOD).get("jsonrpc"), "2.0", "`jsonrpc` of a result")
    expect_equal(session.send_json(UNKNOWN).get("jsonrpc"), "2.0", "`jsonrpc` of an error")


SAME_ID = "It MUST be the same as the value of the id member in the Request Object."


@case("rpc.id-string", MUST, JSON_RPC(RESPONSE, SAME_ID))
def id_string(session):
    """A text as `id` comes back as it was sent, also if it looks like a number."""
    for sent in ("7", "a-b_c", "Zürich 東京"):
        expect_equal(session.send_json({**GOOD, "id": sent}).get("id"), sent, "`id`")


@case("rpc.id-number", MUST, JSON_RPC(RESPONSE, SAME_ID))
def id_number(session):
    """A number as `id` comes back as a number."""
    for sent in (0, 7, -1, 2**31):
        expect_equal(session.send_json({**GOOD, "id": sent}).get("id"), sent, "`id`")


@case(
    "rpc.id-null",
    MUST,
    JSON_RPC("4 Request object", "MUST contain a String, Number, or NULL value if included."),
)
def id_null(session):
    """A request whose `id` is null is a request and no notification: it is answered, with null."""
    response = session.send_json({**GOOD, "id": None})
    expect(isinstance(response, dict) and "result" in response, f"a result, got {shown(response)}")
    expect("id" in response and response["id"] is None, "`id` is there and null")


@case("rpc.id-of-error", MUST, JSON_RPC(RESPONSE, SAME_ID))
def id_of_error(session):
    """An error has the `id` of its request."""
    response = session.send_json({**UNKNOWN, "id": "mine"})
    error_of(response)
    expect_equal(response.get("id"), "mine", "`id`")


@case("rpc.result-alone", MUST, JSON_RPC(RESPONSE, "both members MUST NOT be included."))
def result_alone(session):
    """A response with `result` has no `error`, not even null."""
    response = session.send_json(GOOD)
    expect("result" in response, f"the response has a `result`, got {shown(response)}")
    expect("error" not in response, f"the response has no `error`, got {shown(response.get('error'))}")


@case(
    "rpc.error-alone",
    MUST,
    JSON_RPC(RESPONSE, "This member MUST NOT exist if there was an error invoking the method."),
)
def error_alone(session):
    """A response with `error` has no `result`, not even null."""
    response = session.send_json(UNKNOWN)
    error_of(response)
    expect("result" not in response, f"the response has no `result`, got {shown(response.get('result'))}")


@case("rpc.error-code", MUST, JSON_RPC(ERROR, "This MUST be an integer."))
def error_code(session):
    """`error.code` is an integer."""
    for error in some_errors(session):
        code = error.get("code")
        expect(isinstance(code, int) and not isinstance(code, bool), f"an integer, got {shown(code)}")


@case("rpc.error-message", MUST, JSON_RPC(ERROR, "A String providing a short description of the error."))
def error_message(session):
    """`error.message` is a text that is not empty."""
    for error in some_errors(session):
        message = error.get("message")
        expect(isinstance(message, str) and message.strip(), f"a text, got {shown(message)}")


@case(
    "rpc.error-message-short",
    SHOULD,
    JSON_RPC(ERROR, "The message SHOULD be limited to a concise single sentence."),
)
def error_message_short(session):
    """`error.message` is one line of at most 1,000 characters."""
    for error in some_errors(session):
        message = str(error.get("message"))
        expect("\n" not in message.strip(), f"one line, got {shown(message)}")
        expect(len(message) <= 1000, f"at most 1,000 characters, got {len(message)}")


@case(
    "rpc.error-code-reserved",
    MUST,
    JSON_RPC(
        ERROR, "Any code within this range, but not defined explicitly below is reserved for future use."
    ),
)
def error_code_reserved(session):
    """Codes of errors between -32768 and -32000 are those that JSON-RPC defines, or a server's own
    (-32099 to -32000)."""
    defined = {-32700, -32600, -32601, -32602, -32603}
    for error in some_errors(session):
        code = error.get("code")
        is_free = not -32768 <= code <= -32100
        expect(is_free or code in defined, f"a code that is not reserved, got {code}")


def some_errors(session):
    """Errors of several kinds."""
    asked = [
        ("no_such_method", {}),
        ("describe_skill", {}),
        ("describe_skill", {"name": "conformance.no.such"}),
        ("read_blob", {"blob_id": "blob:conformance-no-such"}),
    ]
    return [error_of(session.respond(method, params)) for method, params in asked]


@case("rpc.method-unknown", MUST, JSON_RPC(ERROR, "The method does not exist / is not available."))
def method_unknown(session):
    """An unknown method is answered with -32601."""
    expect_code(session.send_json(UNKNOWN), -32601)


@case("rpc.parse-error", MUST, JSON_RPC(ERROR, "Invalid JSON was received by the server."))
def parse_error(session):
    """A body that is not JSON is answered with -32700."""
    for body in (b'{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]', b"{", b"nonsense"):
        expect_code(session.json_of(session.send(body)), -32700)


@case(
    "rpc.parse-error-id",
    MUST,
    JSON_RPC(
        RESPONSE,
        "If there was an error in detecting the id in the Request object "
        "(e.g. Parse error/Invalid Request), it MUST be Null.",
    ),
)
def parse_error_id(session):
    """The answer to a body that is not JSON has an `id`, and it is null."""
    response = session.json_of(session.send(b'{"jsonrpc": "2.0", "id": 7, "method"'))
    expect(
        isinstance(response, dict) and "id" in response, f"the response has an `id`, got {shown(response)}"
    )
    expect_equal(response["id"], None, "`id`")


NOT_VALID = "The JSON sent is not a valid Request object."


@case("rpc.request-number", MUST, JSON_RPC(ERROR, NOT_VALID))
def request_number(session):
    """JSON that is no object, such as a number or a text, is answered with -32600."""
    for value in (1, "text", None, True):
        expect_code(session.send_json(value), -32600)


@case("rpc.request-without-method", MUST, JSON_RPC(ERROR, NOT_VALID))
def request_without_method(session):
    """A request without `method`, or with one that is no text, is answered with -32600."""
    for request in ({"jsonrpc": "2.0", "id": 1}, {"jsonrpc": "2.0", "id": 1, "method": 1}):
        expect_code(session.send_json(request), -32600)


@case("rpc.request-version", MUST, JSON_RPC("4 Request object", 'MUST be exactly "2.0".'))
def request_version(session):
    """A request without `jsonrpc` \"2.0\" is answered with -32600."""
    for wrong in ("1.0", 2.0, None):
        expect_code(session.send_json({**GOOD, "jsonrpc": wrong}), -32600)


@case(
    "rpc.request-id",
    MUST,
    JSON_RPC("4 Request object", "MUST contain a String, Number, or NULL value if included."),
)
def request_id(session):
    """A request whose `id` is an object, an array or a boolean is answered with -32600."""
    for wrong in ({}, [1], True):
        expect_code(session.send_json({**GOOD, "id": wrong}), -32600)


@case("rpc.params-left-out", MUST, JSON_RPC("4 Request object", "This member MAY be omitted."))
def params_left_out(session):
    """A method without required parameters can be called without `params`."""
    response = session.respond("list_skills")
    expect(isinstance(response.get("result"), dict), f"a result, got {shown(response)}")


@case(
    "rpc.params-text",
    MUST,
    JSON_RPC(
        "4.2 Parameter Structures",
        "If present, parameters for the rpc call MUST be provided as a Structured value.",
    ),
)
def params_text(session):
    """`params` that are a text or a number are refused, with -32600 or -32602."""
    for wrong in ("bar", 1):
        error = error_of(session.respond("list_skills", wrong))
        expect(error.get("code") in (-32600, -32602), f"-32600 or -32602, got {error.get('code')}")


@case(
    "rpc.params-array",
    SHOULD,
    CONVENTIONS("Request format", "Parameters are given by name: `params` is an object."),
)
def params_array(session):
    """`params` by position are refused and not ignored."""
    error_of(session.respond("describe_skill", ["skills.protocol.guide"]))


@case("rpc.params-invalid", SHOULD, JSON_RPC(ERROR, "Invalid method parameter(s)."))
def params_invalid(session):
    """A call without a required parameter is answered with -32602."""
    for method in (
        "describe_skill",
        "read_skill_file",
        "execute_skill",
        "run_code",
        "create_blob",
        "read_blob",
    ):
        expect_code(session.respond(method, {}), -32602)


@case(
    "rpc.http-200-for-errors",
    SHOULD,
    CLIENT("Calls", "It raises at an HTTP status of 400 and more, before it looks for an error of JSON-RPC."),
)
def http_200_for_errors(session):
    """Errors of calls are answered with HTTP 200."""
    for request in (UNKNOWN, session.request("describe_skill", {"name": "conformance.no.such"})):
        reply = session.send(json.dumps(request).encode())
        error_of(session.json_of(reply))
        expect_equal(reply.status, 200, "the HTTP status")


NO_REPLY = "The Server MUST NOT reply to a Notification, including those that are within a batch request."


@case("rpc.notification", MUST, JSON_RPC("4.1 Notification", NO_REPLY))
def notification(session):
    """A request without `id` is answered with an empty body."""
    reply = session.send(b'{"jsonrpc": "2.0", "method": "list_skills"}')
    expect(not reply.body.strip(), f"the body is empty, got {shown(reply.body)}")
    expect(reply.status < 400, f"HTTP tells no error, got {reply.status}")


@case(
    "rpc.notification-wrong",
    MUST,
    JSON_RPC("4.1 Notification", "the Client would not be aware of any errors"),
)
def notification_wrong(session):
    """A notification of an unknown method, or with wrong parameters, has no answer either."""
    for request in (
        {"jsonrpc": "2.0", "method": "no_such"},
        {"jsonrpc": "2.0", "method": "read_blob", "params": {}},
    ):
        reply = session.send(json.dumps(request).encode())
        expect(not reply.body.strip(), f"the body is empty, got {shown(reply.body)}")


@case(
    "rpc.batch",
    SHOULD,
    JSON_RPC(BATCH, "The Server should respond with an Array containing the corresponding Response objects"),
)
def batch(session):
    """A batch is answered with an array that has one response for each request, found by its `id`."""
    ids = ["a", 2, "c"]
    responses = session.send_json([{**GOOD, "id": "a"}, {**UNKNOWN, "id": 2}, {**GOOD, "id": "c"}])
    expect(isinstance(responses, list), f"the answer is an array, got {shown(responses)}")
    expect(
        sorted(map(str, (one.get("id") for one in responses))) == sorted(map(str, ids)),
        f"one response for each of {ids}",
    )
    by_id = {one["id"]: one for one in responses}
    expect("result" in by_id["a"] and "result" in by_id["c"], "good requests of a batch have results")
    expect_code(by_id[2], -32601)


@case("rpc.batch-invalid", SHOULD, JSON_RPC(BATCH, "A Response object SHOULD exist for each Request object"))
def batch_invalid(session):
    """Each invalid request of a batch is answered with an error of its own, the valid one with its result."""
    responses = session.send_json([1, {"foo": "boo"}, GOOD])
    expect(isinstance(responses, list) and len(responses) == 3, f"three responses, got {shown(responses)}")
    errors = [one for one in responses if "error" in one]
    expect(len(errors) == 2, f"two errors, got {len(errors)}")
    for error in errors:
        expect_code(error, -32600)
        expect_equal(error.get("id", 0), None, "`id` of an invalid request")


@case("rpc.batch-notification", MUST, JSON_RPC("4.1 Notification", NO_REPLY))
def batch_notification(session):
    """Notifications of a batch have no response, the requests beside them do."""
    responses = session.send_json([{"jsonrpc": "2.0", "method": "list_skills"}, GOOD])
    expect(isinstance(responses, list), f"the answer is an array, got {shown(responses)}")
    expect([one.get("id") for one in responses] == [1], f"one response, got {shown(responses)}")


@case(
    "rpc.batch-of-notifications",
    MUST,
    JSON_RPC(BATCH, "the server MUST NOT return an empty Array and should return nothing at all."),
)
def batch_of_notifications(session):
    """A batch of nothing but notifications is answered with an empty body."""
    notice = {"jsonrpc": "2.0", "method": "list_skills"}
    reply = session.send(json.dumps([notice, notice]).encode())
    expect(not reply.body.strip(), f"the body is empty, got {shown(reply.body)}")


SINGLE = "the response from the Server MUST be a single Response object."


@case("rpc.batch-empty", MUST, JSON_RPC(BATCH, SINGLE))
def batch_empty(session):
    """An empty array is answered with one response object, -32600."""
    expect_code(session.send_json([]), -32600)


@case("rpc.batch-broken", MUST, JSON_RPC(BATCH, SINGLE))
def batch_broken(session):
    """An array that is not JSON is answered with one response object, -32700."""
    expect_code(
        session.json_of(session.send(b'[{"jsonrpc": "2.0", "method": "list_skills", "id": 1}, {"json')),
        -32700,
    )
