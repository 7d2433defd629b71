"""Functions that cells call, and the answers to what cells ask."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from scripted import ScriptedServer, result
from test_session_requests import ID, RUN, made

import wardian
from wardian import errors

CATCHES = """
try:
    await tools.query(table="none")
except tools.ToolError as error:
    said = str(error)
"""


def query(table: str) -> list[str]:
    """Asks the database."""
    if table == "none":
        raise LookupError("no such table")
    return [table]


def strange() -> object:
    return object()


def tool(request: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": request, "kind": "tool", "name": name, "arguments": arguments}


def waiting(*requests: dict[str, Any]) -> dict[str, Any]:
    session = {"id": ID, "cell": 2, "checkpoint": "c1-9f2a61b0", "state": "waiting"}
    return {**RUN, "status": "waiting", "output": None, "session": session, "requests": requests}


def params(server: ScriptedServer) -> list[dict[str, Any]]:
    return [seen.body["params"] for seen in server.seen[1:]]


def test_functions_answer_what_a_cell_asks() -> None:
    line = {"id": "c2-r3", "kind": "input", "prompt": "Name? "}
    first = waiting(tool("c2-r1", "query", table="a"), tool("c2-r2", "query", table="none"))
    answers = [made(), result(first), result(waiting(line)), result(RUN)]
    with ScriptedServer(answers) as server, wardian.Client(server.url) as client:
        session = client.session()
        ran = session.run("x", tools=[query, strange], on_input=str.strip, timeout_ms=100)
        assert ran.is_completed and ran.requests == []
        assert session.checkpoint == "c2-00112233"
        begun, second, third = params(server)
    described, nameless = begun["tools"]
    assert described == {
        "name": "query",
        "description": "Asks the database.",
        "input_schema": {
            "type": "object",
            "properties": {"table": {"type": "string"}},
            "required": ["table"],
            "additionalProperties": False,
        },
        "output_schema": {"type": "array", "items": {"type": "string"}},
    }
    assert nameless["name"] == "strange" and "output_schema" not in nameless
    assert second == {
        "language": "python",
        "code": "",
        "session": {"id": ID},
        "timeout_ms": 100,
        "answers": [
            {"id": "c2-r1", "output": ["a"]},
            {"id": "c2-r2", "error": "LookupError: no such table"},
        ],
    }
    assert third["answers"] == [{"id": "c2-r3", "output": "Name?"}]


def test_what_no_function_answers_is_for_the_caller() -> None:
    line = {"id": "c2-r2", "kind": "input", "prompt": "Word? ", "hidden": True}
    asked = waiting(tool("c2-r1", "query", table="a"), line)
    answers = [made(), result(asked), result(RUN)]
    with ScriptedServer(answers) as server, wardian.Client(server.url) as client:
        session = client.session()
        waits = session.run("x", tools=[query])
        assert (waits.status, waits.is_completed, len(server.seen)) == ("waiting", False, 2)
        assert waits.session is not None and waits.session.state == "waiting"
        first, second = waits.requests
        assert (first.kind, first.name, first.arguments) == ("tool", "query", {"table": "a"})
        assert (second.kind, second.prompt, second.hidden) == ("input", "Word? ", True)
        session.answer({first.id: {"rows": (1, 2)}, second.id: EOFError()})
        _, answered = params(server)
    assert answered["answers"] == [
        {"id": "c2-r1", "output": {"rows": [1, 2]}},
        {"id": "c2-r2", "error": "EOF when reading a line"},
    ]
    assert "tools" not in answered


def test_an_output_that_json_does_not_have_is_an_error_of_the_tool() -> None:
    answers = [made(), result(waiting(tool("c2-r1", "strange"))), result(RUN)]
    with ScriptedServer(answers) as server, wardian.Client(server.url) as client:
        client.session().run("x", tools=[strange])
        _, answered = params(server)
    (answer,) = answered["answers"]
    assert answer["error"].startswith("NotJson: ") and "output" not in answer


def test_a_cell_that_waits_is_abandoned() -> None:
    with ScriptedServer([made(), result(RUN)]) as server, wardian.Client(server.url) as client:
        client.session().abandon()
        (abandoned,) = params(server)
    assert abandoned["abandon"] is True and abandoned["code"] == ""


def test_tools_have_names_of_their_own() -> None:
    with ScriptedServer([made()]) as server, wardian.Client(server.url) as client:
        session = client.session()
        with pytest.raises(ValueError, match="the same name"):
            session.run("x", tools=[query, query])
        nameless: Any = object()
        with pytest.raises(TypeError, match="with a name"):
            session.run("x", tools=[nameless])
        assert len(server.seen) == 1


def test_coroutines_run_at_the_same_time() -> None:
    async def check(url: str) -> None:
        both = anyio.Event()

        async def first() -> int:
            await both.wait()
            return 1

        async def second() -> int:
            both.set()
            return 2

        async with wardian.AsyncClient(url) as client:
            session = await client.session()
            with anyio.fail_after(10):
                await session.run("x", tools=[first, second])

    asked = waiting(tool("c2-r1", "first"), tool("c2-r2", "second"))
    with ScriptedServer([made(), result(asked), result(RUN)]) as server:
        anyio.run(check, server.url)
        _, answered = params(server)
    assert [answer["output"] for answer in answered["answers"]] == [1, 2]


def test_a_server_calls_functions(client: wardian.Client) -> None:
    with client.session() as session:
        ran = session.run("rows = await tools.query(table='a')\nrows * 2", tools=[query])
        assert ran.completed().output == {"result": ["a", "a"]}
        session.run(CATCHES, tools=[query])
        assert session.run("said").output == {"result": "LookupError: no such table"}
        lines: list[str] = []

        def on_input(prompt: str) -> str:
            lines.append(prompt)
            return "Ada"

        assert session.run("input('Name? ')", on_input=on_input).output == {"result": "Ada"}
        assert lines == ["Name? "]
        waits = session.run("y = 1\nz = input()")
        assert waits.status == "waiting"
        with pytest.raises(errors.SessionBusy):
            session.run("1")
        session.abandon()
        assert session.run("'y' in dir()").output == {"result": False}
