"""Calls that need the approval of the caller, and the functions that decide about them."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from scripted import Answer, ScriptedServer, result
from test_run_tools import events, waiting
from test_session_requests import ID, RUN, made
from test_session_tools import query, tool

import wardian
from wardian._requests import NO_APPROVE, Approve
from wardian.jupyter.questions import LONGEST_ARGUMENTS, allowing
from wardian.tools import ToolBox

CATCHES = """
import tools
try:
    said = await tools.py.erase(n=3)
except tools.ToolError as error:
    said = error.message
[said]
"""

OVER = {name: value for name, value in RUN.items() if name != "session"}
ASKED = {"id": "c1-r1", "kind": "approval", "name": "crm.delete", "arguments": {"id": 7}}


def decides(decision: Any) -> Approve:
    def approve(name: str, arguments: dict[str, Any]) -> Any:
        return decision

    return approve


yes = decides(True)


def answers_to(approve: Any, *requests: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    """The answers that a run sends for these requests."""
    asked = waiting(*(requests or (ASKED,)))
    with ScriptedServer([result(asked), result(OVER)]) as server:
        with wardian.Client(server.url) as client:
            assert client.run_code("x", approve=approve, **options).is_completed
        _, second = server.seen
    assert second.body["params"]["session"] == {"id": ID}
    return second.body["params"]["answers"]


@pytest.mark.parametrize(
    ("decision", "answer"),
    [
        (True, {"output": True}),
        (False, {"output": False}),
        ({"id": 8}, {"output": {"arguments": {"id": 8}}}),
        ({}, {"output": {"arguments": {}}}),
        ("ask Ada", {"error": "ask Ada"}),
    ],
)
def test_a_function_decides_about_a_call(decision: Any, answer: dict[str, Any]) -> None:
    seen: list[tuple[str, Any]] = []

    def approve(name: str, arguments: dict[str, Any]) -> Any:
        seen.append((name, arguments))
        return decision

    assert answers_to(approve) == [{"id": "c1-r1", **answer}]
    assert seen == [("crm.delete", {"id": 7})]


@pytest.mark.parametrize("decision", [None, 1, [], b"yes"])
def test_nothing_but_a_clear_yes_is_one(decision: Any) -> None:
    (answer,) = answers_to(decides(decision))
    assert "output" not in answer and answer["error"].startswith("TypeError: `approve` returns True")


def test_what_the_function_raises_is_a_refusal() -> None:
    def approve(name: str, arguments: dict[str, Any]) -> bool:
        raise LookupError("no such person")

    assert answers_to(approve) == [{"id": "c1-r1", "error": "LookupError: no such person"}]


def test_a_run_with_tools_goes_on_without_an_approval() -> None:
    asked = (tool("c1-r2", "query", table="a"), ASKED)
    refused = {"id": "c1-r1", "error": NO_APPROVE}
    assert answers_to(None, *asked, tools=[query]) == [{"id": "c1-r2", "output": ["a"]}, refused]


def test_without_functions_the_caller_decides_by_hand() -> None:
    answers = [made(), result(waiting(ASKED)), result(OVER)]
    with ScriptedServer(answers) as server, wardian.Client(server.url) as client:
        session = client.session()
        ran = session.run("x")
        (request,) = ran.requests
        assert (ran.status, request.kind, request.name) == ("waiting", "approval", "crm.delete")
        session.answer({request.id: {"arguments": {"id": 9}}})
        sent = server.seen[-1].body["params"]["answers"]
    assert sent == [{"id": "c1-r1", "output": {"arguments": {"id": 9}}}]
    with ScriptedServer([result(waiting(ASKED))]) as server, wardian.Client(server.url) as client:
        assert client.run_code("x").status == "waiting"


def test_cells_and_skills_have_the_function() -> None:
    answers = [made(), result(waiting(ASKED)), result(RUN), result(waiting(ASKED)), result(OVER)]
    with ScriptedServer(answers) as server, wardian.Client(server.url) as client:
        client.session().run("x", approve=yes)
        client.execute_skill("a.b", approve=decides("no"))
        cell, skill = (server.seen[at].body["params"]["answers"] for at in (2, 4))
    assert (cell, skill) == ([{"id": "c1-r1", "output": True}], [{"id": "c1-r1", "error": "no"}])


def test_coroutines_decide_for_asynchronous_clients_alone() -> None:
    async def approve(name: str, arguments: dict[str, Any]) -> bool:
        await anyio.sleep(0)
        return True

    async def check(url: str) -> None:
        async with wardian.AsyncClient(url) as client:
            await client.run_code("x", approve=approve)

    with ScriptedServer([result(waiting(ASKED)), result(OVER)]) as server:
        anyio.run(check, server.url)
        assert server.seen[1].body["params"]["answers"] == [{"id": "c1-r1", "output": True}]
        with wardian.Client(server.url) as client:
            with pytest.raises(TypeError, match="AsyncClient"):
                client.run_code("x", approve=approve)


@pytest.mark.parametrize("is_given", [True, False])
def test_a_stream_decides_while_it_is_read(is_given: bool) -> None:
    over = {"jsonrpc": "2.0", "id": 1, "result": OVER}
    told = events(("request", {"run_id": RUN["run_id"], **ASKED}), ("response", over))
    taken = Answer(body={"run_id": RUN["run_id"], "accepted": ["c1-r1"], "repeated": []})
    with ScriptedServer([told, taken]) as server, wardian.Client(server.url) as client:
        approve = yes if is_given else None
        with client.stream_code("x", tools=[query], approve=approve) as run:
            assert run.wait().is_completed
        answer = {"output": True} if is_given else {"error": NO_APPROVE}
        assert server.seen[1].body == {"answers": [{"id": "c1-r1", **answer}]}


def test_a_model_does_not_approve_its_own_calls() -> None:
    code = {"language": "python", "code": "x"}
    for approve, answer in (None, {"error": NO_APPROVE}), (yes, {"output": True}):
        with ScriptedServer([result(waiting(ASKED)), result(OVER)]) as server:
            with wardian.Client(server.url) as client:
                box = ToolBox(client, approve=approve)
                assert not box.call("run_code", code).is_error
            assert server.seen[1].body["params"]["answers"] == [{"id": "c1-r1", **answer}]
    line = {"id": "c1-r2", "kind": "input", "prompt": ""}
    with ScriptedServer([result(waiting(ASKED, line)), result(OVER)]) as server:
        with wardian.Client(server.url) as client:
            ended = ToolBox(client).call("run_code", code)
        last = server.seen[1].body["params"]
    assert ended.is_error and "one after the other" in ended.text
    assert last["abandon"] is True and last["session"] == ID


def test_the_question_of_a_notebook_shows_the_call() -> None:
    def asked(**arguments: Any) -> str:
        raw: dict[str, Any] = {**ASKED, "arguments": arguments}
        return allowing(wardian.CallerRequest.read(raw))

    assert asked(id=7) == 'Allow crm.delete({"id": 7})? [y/N] '
    assert "\u202e" not in asked(id="\u202e") and "Zürich" in asked(id="Zürich")
    long = asked(id="x" * 5_000)
    assert len(long) < LONGEST_ARGUMENTS + 100 and "3010 more characters" in long


def test_a_server_makes_the_calls_that_are_approved(tool_server: wardian.LocalServer) -> None:
    with wardian.Client(tool_server.url) as client:

        def said(approve: Any, **options: Any) -> Any:
            ran = client.run_code(CATCHES, approve=approve, **options).completed()
            assert ran.output is not None
            results: Any = ran.output["result"]
            return results[0]

        assert said(yes) == {"erased": 3}
        assert said(decides({"n": 4})) == {"erased": 4}
        assert said(decides("ask Ada")) == "the call was not approved: ask Ada"
        assert said(decides(False)) == "the call was not approved"
        assert said(None, tools=[query]) == f"the call was not approved: {NO_APPROVE}"
        with client.stream_code(CATCHES, tools=[query], approve=yes) as run:
            assert run.wait().output == {"result": [{"erased": 3}]}
        with client.session() as session:
            assert session.run(CATCHES, approve=yes).output == {"result": [{"erased": 3}]}
            (request,) = session.run(CATCHES).requests
            assert session.answer({request.id: True}).output == {"result": [{"erased": 3}]}
        box = ToolBox(client, approve=yes)
        answer = box.call("run_code", {"language": "python", "code": CATCHES})
        assert json.loads(answer.text)["output"] == {"result": [{"erased": 3}]}
