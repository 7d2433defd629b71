"""Settings, time-outs, paths, and the errors of connections and strange answers."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any, cast

import anyio
import httpx
import pytest
from scripted import Answer, ScriptedServer, refusal, result
from test_retries import RUN, client_of

import wardian
from wardian import errors
from wardian._retry import Patience, RetryPolicy, retry_after
from wardian._wire import JsonObject
from wardian.results import RunRecord, RunResult

KEY = "wardian_secret"
EVENT = b'event: output\ndata: {"stream": "stdout", "text": "go"}\n\n'
RUN_ID = "run_" + "0" * 32
RECORD: dict[str, Any] = {
    "run_id": RUN_ID,
    "status": "running",
    "kind": "run_code",
    "started_ms": 1,
}


@pytest.mark.parametrize("key", [f" {KEY}\n", f"{KEY}\r\n"])
def test_whitespace_around_a_key_is_no_part_of_it(key: str) -> None:
    with ScriptedServer([result(RUN)]) as server:
        with wardian.Client(server.url, api_key=key) as client:
            client.run_code("1")
        assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", [f"{KEY}\nx", f"{KEY} {KEY}", f"{KEY}é", f"{KEY}\x00"])
def test_a_key_that_is_none_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(errors.InvalidSetting, match="the key has characters") as refused:
        wardian.Client("http://127.0.0.1:1", api_key=key)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "localhost:18080",
        "http://",
        "ftp://u:secret@127.0.0.1",
        "http://u:p@127.0.0.1:secret",
        "http://127.0.0.1?secret",
    ],
)
def test_a_url_that_is_none_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(errors.InvalidSetting, match="the URL of the server") as refused:
        wardian.Client(url)
    assert "secret" not in str(refused.value)


def test_a_password_in_the_url_is_sent_and_not_shown() -> None:
    with ScriptedServer([result(RUN), Answer(breaks=True)]) as server:
        with wardian.Client(server.url.replace("//", "//user:secret@")) as client:
            client.run_code("1")
            assert server.seen[0].headers["authorization"].startswith("Basic ")
            with pytest.raises(wardian.ConnectionFailed) as broken:
                client.run_code("1")
        assert str(broken.value).startswith(f"{server.url}: the connection broke")


def test_a_refusal_below_a_path_is_repeated() -> None:
    answers = [refusal(200, "overloaded", 1), result(RUN)]
    with ScriptedServer(answers) as server, wardian.Client(f"{server.url}/below/rpc") as client:
        assert client.run_code("1").is_completed
        assert [seen.path for seen in server.seen] == ["/below/rpc"] * 2


def test_a_client_of_httpx_is_not_changed() -> None:
    slow = Answer(body=result(RUN).body, delay=2.0)
    with ScriptedServer([slow]) as server, httpx.Client(timeout=30.0) as http:
        client = wardian.Client(server.url, api_key=KEY, timeout=0.2, http=http)
        with pytest.raises(wardian.ConnectionFailed):
            client.run_code("1")
        assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
        assert "authorization" not in http.headers and http.timeout == httpx.Timeout(30.0)


def test_the_server_may_wait_longer_than_the_time_out() -> None:
    slow = Answer(body={**RECORD, "result": RUN, "status": "ended"}, delay=1.0)
    with ScriptedServer([slow]) as server:
        with wardian.Client(server.url, timeout=0.2) as client:
            assert client.runs.of(RUN_ID).wait(timeout=5.0).is_completed
        assert len(server.seen) == 1


def test_a_request_that_only_reads_has_the_time_out() -> None:
    slow = Answer(body=RECORD, delay=2.0)
    with ScriptedServer([slow]) as server:
        retry = RetryPolicy(attempts=1)
        with wardian.Client(server.url, timeout=0.2, retry=retry) as client:
            with pytest.raises(wardian.ConnectionFailed):
                client.runs.get(RUN_ID)


Use = Callable[[wardian.Client, str], object]
HOSTILE = {
    "../../v1/keys": "..%2F..%2Fv1%2Fkeys",
    "../runs/r/cancel?x=": "..%2Fruns%2Fr%2Fcancel%3Fx%3D",
    "a/b#c": "a%2Fb%23c",
    "%2e%2e": "%252e%252e",
    "\ud800": "%3F",
}
USES: list[tuple[str, Use]] = [
    ("GET /v1/blobs/{}", lambda client, found: client.blobs.read(found)),
    ("HEAD /v1/blobs/{}", lambda client, found: client.blobs.describe(found)),
    ("DELETE /v1/blobs/{}", lambda client, found: client.blobs.delete(found)),
    ("POST /v1/blobs/{}/verify?damaged=keep", lambda client, found: client.blobs.verify(found)),
    ("GET /v1/blobs/{}", lambda client, found: client.blobs.read_frame(found)),
    ("GET /v1/blobs/{}", lambda client, found: client.blobs.stream(found).__enter__()),
    ("GET /v1/runs/{}", lambda client, found: client.runs.get(found)),
    ("POST /v1/runs/{}/cancel", lambda client, found: client.runs.of(found).cancel()),
    ("GET /v1/runs/{}/log", lambda client, found: client.runs.log(found)),
    ("GET /v1/runs/{}/record", lambda client, found: client.runs.document(found)),
]


@pytest.mark.parametrize(("request_line", "use"), USES)
@pytest.mark.parametrize("found", HOSTILE)
def test_an_id_is_one_part_of_a_path(request_line: str, use: Use, found: str) -> None:
    with ScriptedServer([refusal(404, "blob_not_found")]) as server, client_of(server) as client:
        with pytest.raises(errors.BlobNotFound):
            use(client, found)
        seen = server.seen[0]
        assert f"{seen.method} {seen.path}" == request_line.format(HOSTILE[found])


@pytest.mark.parametrize("use", [use for _, use in USES])
@pytest.mark.parametrize("found", ["", ".", ".."])
def test_an_id_that_no_path_can_have_is_refused(use: Use, found: str) -> None:
    with ScriptedServer([Answer(body={})]) as server, client_of(server) as client:
        with pytest.raises(errors.InvalidParams) as refused:
            use(client, found)
        assert refused.value.parameter in ("blob_id", "run_id") and server.seen == []


def test_the_place_of_the_active_runs_is_no_run() -> None:
    with ScriptedServer([Answer(body={})]) as server, client_of(server) as client:
        with pytest.raises(errors.InvalidParams):
            client.runs.get("active")
        assert server.seen == []


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, errors.Unauthorized),
        (403, errors.Forbidden),
        (404, errors.BlobNotFound),
        (429, errors.RateLimited),
        (503, errors.Overloaded),
    ],
)
def test_an_answer_without_a_body_has_the_class_of_its_status(
    status: int, kind: type[errors.CallError]
) -> None:
    answer = Answer(status, headers={"x-request-id": "req_1"})
    with ScriptedServer([answer]) as server, client_of(server) as client:
        with pytest.raises(kind) as refused:
            client.blobs.describe("blob:a")
        assert (refused.value.http_status, refused.value.request_id) == (status, "req_1")


def test_errors_of_the_caller_stay_as_they_are() -> None:
    events = Answer(content=EVENT, headers={"content-type": "text/event-stream"})
    with ScriptedServer([events]) as server, client_of(server) as client:
        with pytest.raises(httpx.ConnectError, match="mine"), client.stream_code("1"):
            raise httpx.ConnectError("mine")
        with pytest.raises(httpx.ReadTimeout, match="mine"), client.blobs.stream("blob:a"):
            raise httpx.ReadTimeout("mine")


def test_a_stream_that_breaks_is_an_error_of_this_package_in_its_loop() -> None:
    headers = {"content-type": "text/event-stream"}
    with (
        ScriptedServer([Answer(content=EVENT, headers=headers, stalls=True)]) as server,
        wardian.Client(server.url, timeout=0.2) as client,
    ):
        with client.stream_code("1") as run:
            events = iter(run)
            assert isinstance(next(events), wardian.Output)
            with pytest.raises(wardian.ConnectionFailed, match="timed out") as broken:
                next(events)
            assert broken.value.was_sent
        with client.blobs.stream("blob:a") as pieces, pytest.raises(wardian.ConnectionFailed):
            list(pieces)


def test_a_stream_of_the_asynchronous_client_does_the_same() -> None:
    answer = Answer(content=EVENT, headers={"content-type": "text/event-stream"}, stalls=True)

    async def run() -> None:
        async with wardian.AsyncClient(server.url, timeout=0.2) as client:
            async with client.stream_code("1") as run:
                with pytest.raises(wardian.ConnectionFailed):
                    await run.wait()
            with pytest.raises(httpx.ReadTimeout, match="mine"):
                async with client.blobs.stream("blob:a"):
                    raise httpx.ReadTimeout("mine")

    with ScriptedServer([answer]) as server:
        anyio.run(run)


def test_one_loop_goes_on_where_another_was_left() -> None:
    text = b'event: response\ndata: ' + json.dumps(result(RUN).body).encode() + b"\n\n"
    headers = {"content-type": "text/event-stream"}
    answer = Answer(content=EVENT * 3 + text, headers=headers)
    with ScriptedServer([answer]) as server, client_of(server) as client:
        with client.stream_code("1") as run:
            for _ in run:
                break
            for _ in run:
                break
            assert len(list(run)) == 1
            assert run.wait().is_completed and list(run) == []
        with client.stream_code("1") as run:
            for _ in run:
                break
        with pytest.raises(RuntimeError, match="context was left before its end"):
            run.wait()


def test_a_run_is_streamed_once() -> None:
    with ScriptedServer([result(RUN)]) as server, client_of(server) as client:
        run = client.stream_code("1")
        with pytest.raises(RuntimeError, match="context manager"):
            run.wait()
        with run:
            assert run.wait().is_completed
        with pytest.raises(RuntimeError, match="already begun"), run:
            pass
        assert len(server.seen) == 1


def test_a_closed_client_says_so() -> None:
    client = wardian.Client("http://127.0.0.1:1")
    client.close()
    with pytest.raises(wardian.ConnectionFailed, match="the client is closed") as failed:
        client.version()
    assert not failed.value.was_sent


@pytest.mark.parametrize(
    "answer",
    [
        Answer(content=b"no gzip", headers={"content-encoding": "gzip"}),
        Answer(content=b"[" * 100_000),
        Answer(content=b"data: \xff\n\n", headers={"content-type": "text/event-stream"}),
    ],
    ids=["gzip", "deep", "events"],
)
def test_an_answer_that_cannot_be_read_is_a_bad_answer(answer: Answer) -> None:
    with ScriptedServer([answer]) as server, client_of(server) as client:
        with pytest.raises(wardian.BadAnswer), client.stream_code("1") as run:
            run.wait()


@pytest.mark.parametrize("status", [301, 400, 404, 405, 501])
def test_a_server_that_is_none_is_a_bad_answer(status: int) -> None:
    page = Answer(status, content=b"<h1>nginx</h1>", headers={"content-type": "text/html"})
    uses: list[Callable[[wardian.Client], object]] = [
        lambda client: client.version(),
        lambda client: client.run_code("1"),
        lambda client: client.blobs.read("blob:a"),
        lambda client: client.list_skills(),
    ]
    for use in uses:
        with ScriptedServer([page]) as server, client_of(server) as client:
            with pytest.raises(wardian.BadAnswer, match=f"status {status}.*a Wardian server"):
                use(client)
            assert len(server.seen) == 1


@pytest.mark.parametrize("status", [500, 502, 504])
def test_a_gateway_that_does_not_reach_its_server_is_no_bad_answer(status: int) -> None:
    page = Answer(status, content=b"<h1>nginx</h1>", headers={"content-type": "text/html"})
    with ScriptedServer([page]) as server, client_of(server) as client:
        with pytest.raises(errors.CallError) as refused:
            client.version()
        assert refused.value.http_status == status


def test_times_that_no_server_should_name() -> None:
    assert retry_after({"retry-after": "²"}) is None
    assert retry_after({"retry-after": "Wed, 21 Oct 99999 07:28:00 GMT"}) is None
    pause = Patience(RetryPolicy()).pause(-5.0)
    assert pause == 0.0


def all_errors() -> list[wardian.WardianError]:
    run, record = RunResult.read(cast("JsonObject", RUN)), RunRecord.read(RECORD)
    made: list[wardian.WardianError] = [
        kind("m", code=1, kind="k", parameter="p", request_id="r", retry_after=2.0, http_status=3)
        for kind in (errors.CallError, errors.NotJson, *errors.CLASSES.values())
    ]
    made += [
        wardian.ConnectionFailed("m", was_sent=True),
        wardian.RunFailed(run),
        errors.RunWithoutResult(record),
        errors.RunNotEnded(record),
        errors.BadAnswer("m"),
        errors.NoSuchFile("m"),
        errors.FileNotKept("m"),
        errors.InvalidSetting("m"),
    ]
    return made


@pytest.mark.parametrize("error", all_errors(), ids=lambda error: type(error).__name__)
def test_an_error_can_be_pickled_and_copied(error: wardian.WardianError) -> None:
    for made in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(made) is type(error)
        assert (str(made), vars(made)) == (str(error), vars(error))
