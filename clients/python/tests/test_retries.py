"""A request is repeated only if nothing was executed, or nothing is executed twice."""

from __future__ import annotations

import socket
import time

import anyio
import pytest
from scripted import Answer, ScriptedServer, refusal, result

import wardian
from wardian import errors
from wardian._retry import Patience, RetryPolicy, retry_after

RUN: dict[str, object] = {
    "status": "completed",
    "run_id": "run_" + "0" * 32,
    "summary": "Completed.",
    "output": None,
    "output_blobs": [],
    "logs_preview": "",
    "logs_truncated": False,
    "output_truncated": False,
    "duration_ms": 1,
    "memory_peak_bytes": 1,
}


def client_of(server: ScriptedServer, attempts: int = 4) -> wardian.Client:
    return wardian.Client(server.url, retry=RetryPolicy(attempts=attempts, longest_wait=5.0))


@pytest.mark.parametrize(
    "busy", [refusal(429, "rate_limited", 1), refusal(503, "overloaded", 1)], ids=["429", "503"]
)
def test_a_refused_run_is_sent_again(busy: Answer) -> None:
    with ScriptedServer([busy, busy, result(RUN)]) as server, client_of(server) as client:
        assert client.run_code("1").is_completed
        assert len(server.seen) == 3
        bodies = [seen.body for seen in server.seen]
        assert bodies[0] == bodies[2]


def test_the_server_says_how_long_to_wait() -> None:
    answers = [refusal(503, "overloaded", 300), result(RUN)]
    with ScriptedServer(answers) as server, client_of(server) as client:
        began = time.monotonic()
        client.run_code("1")
        assert time.monotonic() - began >= 0.3


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        # The server names no time: the call may have been executed.
        (refusal(503, "overloaded"), errors.Overloaded),
        (refusal(429, "quota_exceeded"), errors.QuotaExceeded),
        (refusal(424, "secret_unavailable"), errors.SecretUnavailable),
        (refusal(200, "internal"), errors.InternalError),
        # Longer than the client has patience for.
        (refusal(429, "rate_limited", 60_000), errors.RateLimited),
    ],
)
def test_other_refusals_are_not_repeated(answer: Answer, kind: type[errors.CallError]) -> None:
    with ScriptedServer([answer]) as server, client_of(server) as client:
        with pytest.raises(kind):
            client.run_code("1")
        assert len(server.seen) == 1


def test_a_client_gives_up() -> None:
    busy = refusal(503, "overloaded", 1)
    with ScriptedServer([busy]) as server, client_of(server, attempts=3) as client:
        with pytest.raises(errors.Overloaded) as refused:
            client.list_skills()
        assert len(server.seen) == 3
        assert refused.value.retry_after == 0.001 and refused.value.http_status == 503


def test_a_refusal_of_a_proxy_is_repeated_if_it_names_a_time() -> None:
    busy = Answer(503, "<html>", {"content-type": "text/html", "retry-after": "0"})
    with ScriptedServer([busy, result(RUN)]) as server, client_of(server) as client:
        assert client.run_code("1").is_completed
    silent = Answer(502, "<html>", {"content-type": "text/html", "retry-after": "0"})
    with ScriptedServer([silent]) as server, client_of(server) as client:
        with pytest.raises(errors.CallError, match="status 502"):
            client.run_code("1")
        assert len(server.seen) == 1


def test_a_run_whose_connection_broke_is_not_repeated() -> None:
    answers = [Answer(breaks=True), result(RUN)]
    with ScriptedServer(answers) as server, client_of(server) as client:
        with pytest.raises(wardian.ConnectionFailed) as broken:
            client.run_code("1")
        assert broken.value.was_sent and len(server.seen) == 1


def test_with_an_idempotency_key_it_is() -> None:
    answers = [Answer(breaks=True), result(RUN)]
    with ScriptedServer(answers) as server, client_of(server) as client:
        assert client.run_code("1", idempotency_key=wardian.new_key()).is_completed
        keys = {seen.body["params"]["idempotency_key"] for seen in server.seen}
        assert len(server.seen) == 2 and len(keys) == 1


def test_a_call_that_reads_is_repeated() -> None:
    answers = [Answer(breaks=True), result({"skills": [], "next_cursor": None})]
    with ScriptedServer(answers) as server, client_of(server) as client:
        assert client.list_skills().items == []


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_a_server_that_is_not_there_is_tried_again() -> None:
    retry = RetryPolicy(attempts=3, longest_wait=5.0)
    with wardian.Client(f"http://127.0.0.1:{free_port()}", retry=retry) as client:
        began = time.monotonic()
        with pytest.raises(wardian.ConnectionFailed) as failed:
            client.run_code("1")
        assert not failed.value.was_sent
        assert time.monotonic() - began >= 0.6


def test_the_asynchronous_client_does_the_same() -> None:
    async def run() -> None:
        answers = [refusal(503, "overloaded", 1), result(RUN)]
        with ScriptedServer(answers) as server:
            async with wardian.AsyncClient(server.url) as client:
                assert (await client.run_code("1")).is_completed
        with ScriptedServer([Answer(breaks=True)]) as server:
            async with wardian.AsyncClient(server.url) as client:
                with pytest.raises(wardian.ConnectionFailed):
                    await client.run_code("1")
                assert len(server.seen) == 1

    anyio.run(run)


def test_a_server_that_is_none_is_said_to_be_none() -> None:
    with ScriptedServer([Answer(body=["no", "answer"])]) as server, client_of(server) as client:
        with pytest.raises(errors.BadAnswer):
            client.run_code("1")


def test_pauses_grow_and_end() -> None:
    patience = Patience(RetryPolicy(attempts=4, longest_wait=60.0))
    pauses = [patience.pause() for _ in range(4)]
    assert pauses[3] is None
    first, second, third = (pause for pause in pauses if pause is not None)
    assert 0.2 <= first <= 0.25 and 0.4 <= second <= 0.5 and 0.8 <= third <= 1.0
    assert Patience(RetryPolicy(longest_wait=1.0)).pause(2.0) is None


def test_both_forms_of_retry_after_are_read() -> None:
    assert retry_after({"retry-after": "7"}) == 7.0
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}) is None
