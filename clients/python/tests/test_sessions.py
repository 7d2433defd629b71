"""Sessions of a real server."""

from __future__ import annotations

import threading
import time

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


def test_a_session_goes_back(client: wardian.Client) -> None:
    with client.session() as session:
        session.run("a = 1").completed()
        first = session.name(None, "one")
        assert first.id == session.checkpoint
        session.run("a = 2").completed()
        assert session.restore(first).checkpoint == first.id
        assert session.run("a").output == {"result": 1}
        assert "one" in [checkpoint.name for checkpoint in session.checkpoints()]
        with pytest.raises(errors.CheckpointNotFound):
            session.restore("c9-00000000")


def test_a_session_that_has_moved_on_refuses(client: wardian.Client) -> None:
    with client.session() as session:
        first = session.run("b = 1").session
        session.run("b = 2")
        assert first is not None and first.checkpoint is not None
        with pytest.raises(errors.SessionConflict) as refused:
            session.run("b = 3", if_checkpoint=first.checkpoint)
        assert refused.value.checkpoint == session.checkpoint
        assert session.run("b").output == {"result": 2}


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


def test_cells_and_their_notebook(client: wardian.Client) -> None:
    with client.session() as session:
        session.run("print('hi')")
        session.run("6 * 7")
        cells = session.cells()
        assert [(cell.number, cell.state) for cell in cells] == [(1, "kept"), (2, "kept")]
        assert [cell.number for cell in session.cells(after=1, limit=1)] == [2]
        assert session.notebook()["nbformat"] == 4


def test_what_a_cell_displays(client: wardian.Client) -> None:
    with client.session() as session:
        code = "class A:\n    def _repr_html_(self): return '<b>a</b>'\ndisplay(A())"
        (shown,) = session.run(code).completed().display
        assert shown["text/html"].text == "<b>a</b>"


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

    anyio.run(run)
