"""Runs that end early in their caller: no session of theirs waits on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from conftest import wait_for_no_session
from scripted import Answer, Seen, ScriptedServer, refusal, result
from test_run_tools import waiting
from test_session_requests import GONE, ID, made
from test_session_tools import tool

import wardian
from wardian import errors


@pytest.fixture(scope="module")
def server() -> Iterator[wardian.LocalServer]:
    """A server that has no sessions of other tests."""
    with wardian.LocalServer() as server:
        yield server


CODE = "from tools import f\nawait f()"


def raising(error: BaseException) -> Any:
    def f() -> None:
        raise error

    return f


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_an_exit_in_a_function_ends_the_run(client: wardian.Client, error: BaseException) -> None:
    with pytest.raises(type(error)):
        client.run_code(CODE, tools={"f": raising(error)})
    wait_for_no_session(client)
    with pytest.raises(type(error)), client.stream_code(CODE, tools={"f": raising(error)}) as run:
        run.wait()
    wait_for_no_session(client)


def test_an_exit_in_a_function_of_a_cell_leaves_the_session_free(client: wardian.Client) -> None:
    with client.session() as session:
        session.run("x = 1")
        with pytest.raises(KeyboardInterrupt):
            session.run("x = 2\n" + CODE, tools={"f": raising(KeyboardInterrupt())})
        assert session.run("x").completed().output == {"result": 1}


async def forever() -> None:
    await anyio.sleep_forever()


@pytest.mark.parametrize("how", ["wait_for", "cancel", "scope"])
def test_a_cancelled_run_leaves_no_session(server: wardian.LocalServer, how: str) -> None:
    async def check() -> None:
        async with wardian.AsyncClient(server.url) as client:
            call = client.run_code(CODE, tools={"f": forever})
            if how == "wait_for":
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(call, 1.0)
            elif how == "scope":
                with anyio.move_on_after(1.0) as scope:
                    await call
                assert scope.cancelled_caught
            else:
                task = asyncio.ensure_future(call)
                await asyncio.sleep(1.0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert (await client.sessions()).items == []

    asyncio.run(check())


def test_a_run_that_is_cancelled_while_it_goes_on_leaves_no_session(
    server: wardian.LocalServer, client: wardian.Client
) -> None:
    async def check() -> None:
        async with wardian.AsyncClient(server.url) as other:
            code = "import time\n" + CODE + "\nwhile True: time.sleep(0.01)"
            with anyio.move_on_after(2.0):
                await other.run_code(code, tools={"f": lambda: 1})

    asyncio.run(check())
    wait_for_no_session(client)


def test_a_refused_answer_ends_the_run() -> None:
    abandoned: list[Any] = []
    closed: list[str] = []

    def answer(seen: Seen) -> Answer:
        if seen.method == "DELETE":
            closed.append(seen.path)
            return GONE
        params = seen.body["params"]
        if params.get("abandon"):
            abandoned.append(params)
            # The first one comes too early.
            return refusal(409, "session_busy" if len(abandoned) == 1 else "session_conflict")
        return refusal(403, "forbidden") if "answers" in params else result(waiting(tool("c1-r1", "f")))

    with ScriptedServer(answer) as server, wardian.Client(server.url) as client:
        with pytest.raises(errors.Forbidden):
            client.run_code("x", tools={"f": lambda: 1})
    assert len(abandoned) == 2 and closed == [f"/v1/sessions/{ID}"]
    assert abandoned[0] == {"language": "python", "code": "", "session": ID, "abandon": True}


def test_a_server_that_does_not_answer_holds_up_no_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wardian._calls.LONGEST_GOODBYE", 0.5)

    def answer(seen: Seen) -> Answer:
        late = result({})
        late.delay = 30.0
        return late if seen.body["params"].get("abandon") else result(waiting(tool("c1-r1", "f")))

    async def check(url: str) -> None:
        async with wardian.AsyncClient(url) as client:
            with anyio.move_on_after(0.3):
                await client.run_code("x", tools={"f": forever})

    with ScriptedServer(answer) as server, wardian.Client(server.url) as client:
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            client.run_code("x", tools={"f": raising(KeyboardInterrupt())})
        anyio.run(check, server.url)
        assert time.monotonic() - began < 10
        assert sum(bool(seen.body["params"].get("abandon")) for seen in server.seen) == 2


def test_what_no_function_answers_still_waits() -> None:
    answers = [made(), result(waiting(tool("c1-r1", "g")))]
    with ScriptedServer(answers) as server, wardian.Client(server.url) as client:
        assert client.session().run("x", tools={"f": lambda: 1}).status == "waiting"
        assert len(server.seen) == 2


def test_a_function_that_is_cancelled_by_itself_is_an_error() -> None:
    async def f() -> None:
        raise asyncio.CancelledError

    async def check(url: str) -> None:
        async with wardian.AsyncClient(url) as client:
            await client.run_code("x", tools=[f])

    over = result({**waiting(), "status": "completed", "session": None})
    with ScriptedServer([result(waiting(tool("c1-r1", "f"))), over]) as server:
        asyncio.run(check(server.url))
        (answer,) = server.seen[1].body["params"]["answers"]
    assert "cancelled" in answer["error"]
