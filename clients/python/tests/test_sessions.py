"""Sessions of a real server."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

import wardian
from wardian import errors


def test_variables_imports_and_files_stay(client: wardian.Client) -> None:
    with client.session(label="report") as session:
        session.run("import math\nx = 6\nopen('note.txt', 'w').write('hello')").completed()
        result = session.run("x * 7, math.floor(2.5), open('note.txt').read()").completed()
        assert result.output == {"result": [42, 2, "hello"]}
        assert result.session is not None
        assert (result.session.cell, result.session.state) == (2, "kept")
        assert result.session.checkpoint == session.checkpoint == session.info().checkpoint
        assert session.id in [one.id for one in client.sessions(limit=100).items]
    with pytest.raises(errors.SessionNotFound):
        client.open_session(session.id)


def test_a_program_that_fails_keeps_what_it_did(client: wardian.Client) -> None:
    with client.session() as session:
        failed = session.run("y = 1\n1 / 0")
        assert failed.error is not None and failed.error.type == "ZeroDivisionError"
        assert failed.session is not None and failed.session.state == "kept"
        assert session.run("y").output == {"result": 1}


def test_a_cell_whose_time_is_over_leaves_no_trace(client: wardian.Client) -> None:
    with client.session() as session:
        session.run("z = 1").completed()
        # The interrupt of the time limit cannot stop this one.
        stubborn = "z = 2\nwhile True:\n    try:\n        while True: pass\n    except: pass"
        late = session.run(stubborn, timeout_ms=500)
        assert late.session is not None and late.session.state == "rolled_back"
        assert late.session.reason and session.run("z").output == {"result": 1}


def test_forks_go_their_own_ways(client: wardian.Client) -> None:
    with client.session() as session:
        session.run("rows = [1]").completed()
        forks = session.fork(2)
        for number, fork in enumerate(forks):
            with fork:
                assert fork.run(f"rows.append({number}); rows").output == {"result": [1, number]}
        assert session.run("rows").output == {"result": [1]}


def test_forks_of_an_earlier_state(client: wardian.Client) -> None:
    with client.session(label="origin") as session:
        with pytest.raises(errors.CheckpointNotFound):
            session.fork()
        session.run("rows = [1]").completed()
        first = session.checkpoint
        session.run("rows = None").completed()
        (fork,) = session.fork(checkpoint=first)
        with fork:
            assert fork.checkpoint == first
            assert fork.run("rows").output == {"result": [1]}
        with pytest.raises(errors.InvalidParams) as refused:
            session.fork(17)
        assert refused.value.parameter == "count"


def test_a_tenant_without_room_for_sessions() -> None:
    with wardian.LocalServer(settings={"sessions.max": "3"}) as server:
        with wardian.Client(server.url) as client, client.session() as session:
            session.run("1").completed()
            with pytest.raises(errors.QuotaExceeded, match="at most 3 sessions"):
                session.fork(3)
            assert client.sessions().usage.sessions == 1
            for fork in session.fork(2):
                fork.close()
            client.session()
            client.session()
            with pytest.raises(errors.QuotaExceeded):
                client.session()


def test_a_session_goes_back(client: wardian.Client) -> None:
    with client.session() as session:
        session.run("a = 1").completed()
        first = session.name(None, "one")
        assert first.id == session.checkpoint
        session.run("a = 2").completed()
        assert session.restore(first).checkpoint == first.id
        assert session.run("a").output == {"result": 1}
        assert "one" in [checkpoint.name for checkpoint in session.checkpoints()]
        with pytest.raises(errors.SessionConflict):
            session.forget(str(session.checkpoint))
        session.forget(first)
        assert first.id not in [checkpoint.id for checkpoint in session.checkpoints()]
        with pytest.raises(errors.CheckpointNotFound):
            session.restore("c9-00000000")


def test_a_session_that_has_moved_on_refuses(client: wardian.Client) -> None:
    with client.session() as session:
        first = session.run("b = 1").session
        session.run("b = 2")
        assert first is not None and first.checkpoint is not None
        with pytest.raises(errors.SessionConflict) as refused:
            session.run("b = 3", if_checkpoint=first.checkpoint)
        assert f"`{session.checkpoint}`" in refused.value.message
        result = session.run("b", if_checkpoint=str(session.checkpoint))
        assert result.output == {"result": 2}


def test_a_busy_session_refuses_or_waits_and_is_interrupted(client: wardian.Client) -> None:
    with client.session() as session:
        results: list[wardian.RunResult] = []
        code = "import time\nc = 1\ntime.sleep(250)"

        def run() -> None:
            results.append(session.run(code, timeout_ms=300_000))

        running = threading.Thread(target=run)
        running.start()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            cells = session.cells()
            if cells and cells[-1].state == "running":
                break
            time.sleep(0.05)
        with pytest.raises(errors.SessionBusy):
            session.run("1")
        assert session.interrupt()
        running.join()
        assert results[0].error is not None and results[0].error.type == "KeyboardInterrupt"
        assert session.run("c", wait_ms=10_000).output == {"result": 1}
        assert not session.interrupt()


def test_a_cell_waits_for_another_one(client: wardian.Client) -> None:
    with client.session() as session:
        session.run("order = []").completed()
        slow = threading.Thread(
            target=session.run, args=("import time\ntime.sleep(1)\norder.append(1)",)
        )
        slow.start()
        while [cell.state for cell in session.cells(after=1)] != ["running"]:
            time.sleep(0.01)
        waited = session.run("order.append(2); order", wait_ms=60_000)
        slow.join()
        assert waited.output == {"result": [1, 2]}


def test_a_stream_that_is_left_leaves_no_trace(client: wardian.Client) -> None:
    with client.session() as session:
        session.run("k = 1").completed()
        code = "k = 2\nprint('begun', flush=True)\nimport time\ntime.sleep(250)"
        with session.stream(code, timeout_ms=300_000) as run:
            for _ in run:
                break
        assert session.run("k", wait_ms=60_000).output == {"result": 1}
        assert session.cells()[1].state == "rolled_back"


def test_cells_and_their_notebook(client: wardian.Client) -> None:
    with client.session() as session:
        session.run("print('hi')")
        session.run("6 * 7")
        session.run("1 / 0")
        cells = session.cells()
        assert [(cell.number, cell.state) for cell in cells] == [
            (1, "kept"),
            (2, "kept"),
            (3, "kept"),
        ]
        assert cells[1].source == "6 * 7" and cells[2].checkpoint == session.checkpoint
        assert cells[1].result is not None and cells[1].result.output == {"result": 42}
        assert [cell.number for cell in session.cells(after=1, limit=1)] == [2]
        notebook: Any = session.notebook()
        assert notebook["nbformat"] == 4
        outputs = [cell["outputs"][0] for cell in notebook["cells"]]
        assert outputs[0]["text"] == "hi\n" and outputs[1]["data"] == {"text/plain": "42"}
        assert outputs[2]["ename"] == "ZeroDivisionError"


def test_times_are_milliseconds_since_1970(client: wardian.Client) -> None:
    before = time.time() * 1_000 - 1_000
    with client.session(idle_ms=3_600_000) as session:
        session.run("1").completed()
        info = session.info()
        (cell,), (checkpoint,) = session.cells(), session.checkpoints()
    after = time.time() * 1_000 + 1_000
    assert before < info.created_ms <= cell.began_ms <= checkpoint.created_ms < after
    assert info.created_ms < info.used_ms < after
    assert info.expires_ms == info.used_ms + 3_600_000


def test_all_sessions_come_page_by_page(client: wardian.Client) -> None:
    made = [client.session(label=f"page {number}") for number in range(3)]
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = client.sessions(limit=2, cursor=cursor)
        found += [one.id for one in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
        assert len(page.items) == 2
    assert found[:3] == [session.id for session in reversed(made)]
    assert len(found) == len(set(found)) == page.usage.sessions
    for session in made:
        session.close()
    with pytest.raises(errors.InvalidParams) as refused:
        client.sessions(cursor="x")
    assert refused.value.parameter == "cursor"


def test_what_a_cell_displays(client: wardian.Client) -> None:
    with client.session() as session:
        code = (
            "class A:\n    def _repr_html_(self): return '<b>a</b>'\n"
            "    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n'\n"
            "display(A())\ndisplay('b')"
        )
        first, second = session.run(code).completed().display
        assert first["text/html"].text == "<b>a</b>"
        picture = first["image/png"]
        assert picture.text is None and picture.blob is not None
        assert client.blobs.read(picture.blob) == b"\x89PNG\r\n\x1a\n"
        assert second["text/plain"].text == "'b'"


def test_blobs_of_a_session_stay(client: wardian.Client) -> None:
    blob = client.blobs.upload("1,2\n", name="numbers.csv")
    with client.session(input_blobs=[blob]) as session:
        for _ in range(2):
            result = session.run("open('numbers.csv').read()").completed()
            assert result.output == {"result": "1,2\n"}


def test_a_session_expires(client: wardian.Client) -> None:
    with client.session(idle_ms=300) as session:
        time.sleep(0.4)
        for use in (lambda: session.run("1"), session.info):
            with pytest.raises(errors.SessionExpired, match="expired at"):
                use()


def test_a_session_survives_a_restart(tmp_path: Path) -> None:
    with wardian.local(data_dir=tmp_path) as client:
        session = client.session()
        session.run("import math\nrest = math.pi").completed()
    with wardian.local(data_dir=tmp_path) as client:
        with client.open_session(session.id, keep=False) as again:
            assert again.checkpoint == session.checkpoint
            assert again.run("math.floor(rest)").output == {"result": 3}


def test_a_session_is_kept_and_found_again(client: wardian.Client) -> None:
    with client.session(keep=True) as session:
        session.run("d = 1")
    with client.open_session(session.id, keep=False) as again:
        assert again.run("d").output == {"result": 1}
    with pytest.raises(errors.SessionNotFound):
        again.run("d")


def test_a_session_by_the_parameter_of_run_code(client: wardian.Client) -> None:
    first = client.run_code("e = 1", session="new")
    assert first.session is not None
    last = client.run_code("e", session={"id": first.session.id, "keep": False})
    assert last.output == {"result": 1}
    assert last.session is not None and last.session.state == "closed"
    with pytest.raises(errors.SessionNotFound):
        client.run_code("e", session=first.session.id)
    with pytest.raises(errors.InvalidParams) as refused:
        client.run_code("e", {"a": 1}, session="new")
    assert refused.value.parameter == "args"


def test_output_of_a_cell_comes_while_it_runs(client: wardian.Client) -> None:
    with client.session() as session, session.stream("print('f')\nf = 1") as run:
        printed = "".join(event.text for event in run if isinstance(event, wardian.Output))
        assert printed == "f\n"
        assert run.result.session is not None
        assert session.checkpoint == run.result.session.checkpoint is not None


def test_an_asynchronous_session(server: wardian.LocalServer) -> None:
    async def run() -> None:
        async with wardian.AsyncClient(server.url) as client:
            async with await client.session() as session:
                await session.run("g = 1")
                (fork,) = await session.fork()
                async with fork:
                    assert (await fork.run("g")).output == {"result": 1}
                assert [cell.number for cell in await session.cells()] == [1]
                assert session.id in [one.id for one in (await client.sessions()).items]
                async with anyio.create_task_group() as group:
                    group.start_soon(session.run, "import time\ntime.sleep(250)")
                    while not await session.interrupt():
                        await anyio.sleep(0.05)

    anyio.run(run)
