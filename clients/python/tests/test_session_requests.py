"""What a client sends for sessions, and how it reads the answers."""

from __future__ import annotations

import json
import pickle
from typing import Any

import anyio
import pytest
from scripted import Answer, ScriptedServer, refusal, result

import wardian
from wardian import errors
from wardian.sessions import Cell, Checkpoint, SessionInfo

ID = "ses_" + "a" * 26
SESSION: dict[str, Any] = {
    "id": ID,
    "label": None,
    "created_ms": 1_795_860_000_000,
    "used_ms": 1_795_860_001_500,
    "expires_ms": 1_795_946_401_500,
    "cells": 1,
    "checkpoint": "c1-9f2a61b0",
    "is_warm": True,
    "guest_memory_bytes": 41_943_040,
    "parked_own_bytes": 20_480,
    "parked_shared_bytes": 0,
    "forked_from": None,
    "run_id": None,
}
CHECKPOINT: dict[str, Any] = {
    "id": "c1-9f2a61b0",
    "parent": None,
    "cell": 1,
    "name": "loaded",
    "created_ms": 1_795_860_001_000,
    "bytes": 20_480,
}
RUN: dict[str, Any] = {
    "status": "completed",
    "run_id": "run_" + "0" * 32,
    "summary": "Completed.",
    "output": {"result": 42},
    "output_blobs": [],
    "logs_preview": "",
    "logs_truncated": False,
    "output_truncated": False,
    "duration_ms": 1,
    "memory_peak_bytes": 1,
    "session": {"id": ID, "cell": 2, "checkpoint": "c2-00112233", "state": "kept"},
    "display": [
        {"text/html": {"text": "<table>"}, "image/png": {"blob": "blob:a"}},
        {"text/plain": {"text": "x"}},
    ],
}
GONE = Answer(204, content=b"")


def made(**members: Any) -> Answer:
    return Answer(201, {**SESSION, **members})


def sent(server: ScriptedServer) -> list[tuple[str, str, Any]]:
    return [(seen.method, seen.path, seen.body) for seen in server.seen]


def test_a_reproducible_session_has_digests_a_record_and_forks_with_seeds() -> None:
    state = {**RUN["session"], "state_digest": "ab" * 32}
    answers = [
        made(),
        result({**RUN, "fuel": 7, "session": state}),
        Answer(200, {"format": "wardian session record", "cells": []}),
        Answer(201, {"forks": [{**SESSION, "id": "ses_" + "b" * 26}]}),
    ]
    with ScriptedServer(answers) as server:
        with wardian.Client(server.url) as client:
            session = client.session(keep=True, reproducible={"seed": 7})
            ran = session.run("1")
            assert ran.session is not None and ran.session.state_digest == "ab" * 32
            assert session.record()["cells"] == []
            session.fork(seed=8)
        create, _, record, fork = sent(server)
        assert create[2] == {"reproducible": {"seed": 7}}
        assert record[:2] == ("GET", f"/v1/sessions/{ID}/record")
        assert fork == ("POST", f"/v1/sessions/{ID}/fork", {"count": 1, "seed": 8})


def test_a_session_is_made_used_and_closed() -> None:
    with ScriptedServer([made(checkpoint=None, cells=0), result(RUN), GONE]) as server:
        with wardian.Client(server.url) as client:
            with client.session(label="report", limits={"timeout_ms": 500}) as session:
                assert session.id == ID and session.checkpoint is None
                ran = session.run("6 * 7", timeout_ms=100)
                assert session.checkpoint == "c2-00112233"
        create, run, close = sent(server)
        body = {"label": "report", "limits": {"timeout_ms": 500}}
        assert create == ("POST", "/v1/sessions", body)
        assert run[2]["method"] == "run_code"
        assert run[2]["params"] == {
            "language": "python",
            "code": "6 * 7",
            "timeout_ms": 100,
            "session": {"id": ID},
        }
        assert close[:2] == ("DELETE", f"/v1/sessions/{ID}")
    assert ran.session is not None
    assert (ran.session.cell, ran.session.state, ran.session.reason) == (2, "kept", None)
    assert ran.display[0]["text/html"].text == "<table>"
    picture = ran.display[0]["image/png"]
    assert (picture.text, picture.blob) == (None, "blob:a")
    assert list(ran.display[1]) == ["text/plain"]


def test_a_result_without_a_session_has_none() -> None:
    plain = {name: value for name, value in RUN.items() if name not in ("session", "display")}
    with ScriptedServer([result(plain)]) as server, wardian.Client(server.url) as client:
        ran = client.run_code("1")
        assert ran.session is None and ran.display == []


def test_conditions_of_a_cell_belong_to_the_session() -> None:
    checkpoint = Checkpoint.read(CHECKPOINT)
    with ScriptedServer([made(), result(RUN)]) as server, wardian.Client(server.url) as client:
        session = client.session()
        session.run("1", if_checkpoint=checkpoint, wait_ms=2_000, keep_files=False)
        client.run_code("1", session={"id": "new", "keep": False})
        assert server.seen[0].body == {}
        params = [seen.body["params"] for seen in server.seen[1:]]
    conditions = {"id": ID, "if_checkpoint": "c1-9f2a61b0", "wait_ms": 2_000}
    assert params[0]["session"] == conditions and params[0]["keep_files"] is False
    assert not {"if_checkpoint", "wait_ms"} & set(params[0])
    assert params[1]["session"] == {"id": "new", "keep": False}


def test_the_client_waits_longer_for_a_cell_that_waits() -> None:
    late = result(RUN)
    late.delay = 1.5
    with ScriptedServer([made(), late]) as server:
        with wardian.Client(server.url, timeout=0.5) as client:
            session = client.session()
            assert session.run("1", wait_ms=5_000).is_completed
            with pytest.raises(wardian.ConnectionFailed):
                session.run("1")


def test_a_session_that_is_kept_is_not_closed() -> None:
    with ScriptedServer([made(), Answer(200, {**SESSION, "checkpoints": []})]) as server:
        with wardian.Client(server.url) as client:
            with client.session(keep=True):
                pass
            with client.open_session(ID) as found:
                assert found.checkpoint == "c1-9f2a61b0"
        methods = [seen.method for seen in server.seen]
        assert methods == ["POST", "GET"]


@pytest.mark.parametrize("kind", ["session_not_found", "session_expired"])
def test_a_session_that_is_over_is_closed(kind: str) -> None:
    with ScriptedServer([made(), refusal(404, kind)]) as server:
        with wardian.Client(server.url) as client, client.session():
            pass
        assert server.seen[-1].method == "DELETE"


def test_the_error_of_the_block_is_the_one_that_is_raised() -> None:
    answers = [made(), refusal(200, "session_busy"), refusal(409, "session_busy")]
    with ScriptedServer(answers) as server, wardian.Client(server.url) as client:
        session = client.session()
        with pytest.raises(ZeroDivisionError):
            with session:
                with pytest.raises(errors.SessionBusy):
                    session.run("1")
                _ = 1 / 0
        assert server.seen[-1].method == "DELETE"
        with pytest.raises(errors.SessionBusy):
            session.close()


def test_forks_are_sessions() -> None:
    forks = {"forks": [{**SESSION, "id": f"ses_{n}"} for n in range(3)]}
    answers = [made(), Answer(201, forks), result(RUN)]
    with ScriptedServer(answers) as server, wardian.Client(server.url) as client:
        session = client.session(keep=True)
        found = session.fork(3, checkpoint="c1-9f2a61b0")
        assert [fork.id for fork in found] == ["ses_0", "ses_1", "ses_2"]
        assert all(fork.keep for fork in found)
        found[1].run("1")
        _, fork, run = sent(server)
        body = {"count": 3, "checkpoint": "c1-9f2a61b0"}
        assert fork == ("POST", f"/v1/sessions/{ID}/fork", body)
        assert run[2]["params"]["session"] == {"id": "ses_1"}


def test_forks_are_all_made_or_none() -> None:
    refused = {"error": "at most 64 sessions of this tenant are possible"}
    forks = [{**SESSION, "id": "ses_0"}, {**SESSION, "id": "ses_1"}, refused]
    # The second fork cannot be closed, which must not hide the refusal.
    answers = [made(), Answer(201, {"forks": forks}), GONE, refusal(409, "session_busy")]
    with ScriptedServer(answers) as server, wardian.Client(server.url) as client:
        session = client.session()
        with pytest.raises(errors.QuotaExceeded, match="at most 64 sessions") as raised:
            session.fork(3)
        assert raised.value.kind == "quota_exceeded"
        assert [(seen.method, seen.path) for seen in server.seen[2:]] == [
            ("DELETE", "/v1/sessions/ses_0"),
            ("DELETE", "/v1/sessions/ses_1"),
        ]


def test_checkpoints_are_listed_named_restored_and_forgotten() -> None:
    answers = [
        made(),
        Answer(200, {**SESSION, "checkpoints": [CHECKPOINT]}),
        Answer(200, CHECKPOINT),
        Answer(200, {**SESSION, "checkpoint": "c1-9f2a61b0"}),
        GONE,
    ]
    with ScriptedServer(answers) as server, wardian.Client(server.url) as client:
        session = client.session()
        (checkpoint,) = session.checkpoints()
        assert (checkpoint.cell, checkpoint.name, checkpoint.bytes) == (1, "loaded", 20_480)
        assert session.name(None, "loaded") == checkpoint
        assert session.restore(checkpoint).checkpoint == checkpoint.id == session.checkpoint
        session.forget(checkpoint)
        path = f"/v1/sessions/{ID}"
        assert sent(server)[1:] == [
            ("GET", path, b""),
            ("POST", f"{path}/checkpoints", {"name": "loaded"}),
            ("POST", f"{path}/restore", {"checkpoint": "c1-9f2a61b0"}),
            ("DELETE", f"{path}/checkpoints/c1-9f2a61b0", b""),
        ]


def cell(number: int, **members: Any) -> dict[str, Any]:
    return {
        "number": number,
        "source": "1",
        "state": "kept",
        "checkpoint": None,
        "began_ms": 1_795_860_000_500,
        "result": RUN,
        **members,
    }


def test_all_cells_come_page_by_page() -> None:
    running = cell(3, state="running", source=None, result=None)
    pages = [[cell(1), cell(2)], [running], []]
    answers = [made(), *(Answer(200, {"cells": page}) for page in pages)]
    with ScriptedServer(answers) as server, wardian.Client(server.url) as client:
        cells = client.session().cells()
        paths = [seen.path.rpartition("/")[2] for seen in server.seen[1:]]
    assert [one.number for one in cells] == [1, 2, 3]
    assert cells[0].result is not None and cells[0].result.output == {"result": 42}
    assert (cells[2].state, cells[2].source, cells[2].result) == ("running", None, None)
    assert paths == ["cells?after=0", "cells?after=2", "cells?after=3"]


def test_cells_end_where_they_should() -> None:
    # A server that answers with the same page again must not be asked forever.
    same = Answer(200, {"cells": [cell(1), cell(2)]})
    with ScriptedServer([made(), same]) as server, wardian.Client(server.url) as client:
        session = client.session()
        assert len(session.cells()) == 2
        assert [one.number for one in session.cells(after=0, limit=2)] == [1, 2]
        assert session.cells(limit=0) == []
        assert server.seen[-1].path.endswith("cells?after=0&limit=2") and len(server.seen) == 4


def test_interrupts_and_notebooks() -> None:
    answers = [
        made(),
        Answer(202, {"interrupted": True}),
        Answer(202, {"interrupted": False}),
        Answer(200, {"nbformat": 4}, {"content-type": "application/x-ipynb+json"}),
    ]
    with ScriptedServer(answers) as server, wardian.Client(server.url) as client:
        session = client.session()
        assert session.interrupt() and not session.interrupt()
        assert session.notebook() == {"nbformat": 4}
        assert [seen.path.rpartition("/")[2] for seen in server.seen[2:]] == ["interrupt", "notebook"]


def test_sessions_are_listed() -> None:
    usage = {"sessions": 7, "bytes": 1_000}
    page = {"sessions": [SESSION], "next_cursor": "x", "usage": usage}
    with ScriptedServer([Answer(200, page)]) as server, wardian.Client(server.url) as client:
        found = client.sessions(limit=1, cursor="w")
        assert server.seen[0].path == "/v1/sessions?limit=1&cursor=w"
    assert [one.id for one in found.items] == [ID] and found.next_cursor == "x"
    assert (found.usage.sessions, found.usage.bytes) == (7, 1_000)
    info = found.items[0]
    assert (info.created_ms, info.used_ms) == (1_795_860_000_000, 1_795_860_001_500)
    assert info.expires_ms == 1_795_946_401_500


def test_a_session_is_made_only_once() -> None:
    with ScriptedServer([Answer(breaks=True), made()]) as server:
        with wardian.Client(server.url) as client, pytest.raises(wardian.ConnectionFailed):
            client.session()
        assert len(server.seen) == 1


def test_an_error_of_a_session_can_be_pickled() -> None:
    with ScriptedServer([made(), refusal(409, "session_conflict")]) as server:
        with wardian.Client(server.url) as client, pytest.raises(errors.SessionConflict) as refused:
            client.session().run("1", if_checkpoint="c4-00")
    again = pickle.loads(pickle.dumps(refused.value))
    assert (type(again), again.kind) == (errors.SessionConflict, "session_conflict")
    assert again.http_status == 409


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("session_not_found", errors.SessionNotFound),
        ("session_expired", errors.SessionExpired),
        ("session_busy", errors.SessionBusy),
        ("session_conflict", errors.SessionConflict),
        ("session_damaged", errors.SessionDamaged),
        ("checkpoint_not_found", errors.CheckpointNotFound),
        ("quota_exceeded", errors.QuotaExceeded),
    ],
)
def test_each_kind_has_its_error(kind: str, found: type[errors.CallError]) -> None:
    with ScriptedServer([refusal(409, kind)]) as server, wardian.Client(server.url) as client:
        with pytest.raises(found) as refused:
            client.open_session(ID)
        assert refused.value.kind == kind and type(refused.value) is found


def test_ids_lead_nowhere_else() -> None:
    with ScriptedServer([refusal(404, "session_not_found")]) as server:
        with wardian.Client(server.url) as client:
            with pytest.raises(errors.SessionNotFound):
                client.open_session("../runs/x?y")
            with pytest.raises(errors.InvalidParams, match="is not an id"):
                client.open_session("..")
        assert [seen.path for seen in server.seen] == ["/v1/sessions/..%2Fruns%2Fx%3Fy"]


def test_values_that_json_does_not_have_make_no_session() -> None:
    with ScriptedServer([made()]) as server, wardian.Client(server.url) as client:
        wrong: Any = {"timeout_ms": float("nan")}
        with pytest.raises(errors.NotJson):
            client.session(limits=wrong)
        assert server.seen == []


def test_times_are_numbers() -> None:
    assert Cell.read(cell(1)).began_ms == 1_795_860_000_500
    assert Checkpoint.read(CHECKPOINT).created_ms == 1_795_860_001_000
    for wrong in ("2026-11-28T10:00:00Z", 1.5, None):
        with pytest.raises(errors.BadAnswer, match="`used_ms` should be an integer"):
            SessionInfo.read({**SESSION, "used_ms": wrong})


EVENTS = (
    'event: output\ndata: {"stream": "stdout", "text": "a\\n"}\n\n'
    'event: response\ndata: {"jsonrpc": "2.0", "id": 1, "result": RESULT}\n\n'
)


def test_a_streamed_cell_moves_the_session_on() -> None:
    content = EVENTS.replace("RESULT", json.dumps(RUN)).encode()
    streamed = Answer(200, headers={"content-type": "text/event-stream"}, content=content)
    with ScriptedServer([made(), streamed]) as server, wardian.Client(server.url) as client:
        session = client.session()
        with session.stream("print('a')") as run:
            assert [event.raw["text"] for event in run] == ["a\n"]
        assert run.result.output == {"result": 42} and session.checkpoint == "c2-00112233"
        assert server.seen[1].headers["accept"] == "text/event-stream"


def test_the_asynchronous_client_does_the_same() -> None:
    async def run() -> None:
        forks = Answer(201, {"forks": [SESSION]})
        with ScriptedServer([made(), result(RUN), forks, GONE]) as server:
            async with wardian.AsyncClient(server.url) as client:
                async with await client.session() as session:
                    assert (await session.run("1")).is_completed
                    (fork,) = await session.fork()
                    assert isinstance(fork, wardian.AsyncSession)
            assert [seen.method for seen in server.seen] == ["POST", "POST", "POST", "DELETE"]

    anyio.run(run)
