"""Functions that runs call without a session, and their schemas."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import anyio
import pytest
from scripted import Answer, ScriptedServer, result
from test_session_requests import ID, RUN, made
from test_session_tools import query, tool

import wardian
from wardian import _signatures

PROGRAM = """
import asyncio
from tools import crm

async def main(args):
    return await asyncio.gather(*(crm.query(table=table) for table in args["tables"]))
"""

WRONG = """
from tools import ToolError, query

try:
    await query(table=1)
except ToolError as error:
    said = error.message
said
"""


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Line:
    text: str
    count: int = 1
    tags: list[str] = field(default_factory=lambda: [])


class Row(TypedDict):
    id: int
    note: NotRequired[str]


def waiting(*requests: dict[str, Any]) -> dict[str, Any]:
    session = {"id": ID, "cell": 1, "checkpoint": None, "state": "waiting"}
    return {**RUN, "status": "waiting", "output": None, "session": session, "requests": requests}


def test_a_run_calls_functions_until_its_end() -> None:
    asked = waiting(tool("c1-r1", "crm.query", table="a"), tool("c1-r2", "crm.query", table="none"))
    over = {name: value for name, value in RUN.items() if name != "session"}
    with ScriptedServer([result(asked), result(over)]) as server:
        with wardian.Client(server.url) as client:
            named = {"crm.query": query}
            options: Any = {"timeout_ms": 100, "mount_skills": ["s"], "reproducible": {"seed": 7}}
            ran = client.run_code("x", {"n": 1}, tools=named, **options)
        first, second = [seen.body["params"] for seen in server.seen]
    assert ran.is_completed and ran.session is None
    assert first["args"] == {"n": 1} and "session" not in first
    assert first["reproducible"] == {"seed": 7}
    assert [one["name"] for one in first["tools"]] == ["crm.query"]
    assert second == {
        "language": "python",
        "code": "",
        "session": {"id": ID},
        "timeout_ms": 100,
        "answers": [
            {"id": "c1-r1", "output": ["a"]},
            {"id": "c1-r2", "error": "LookupError: no such table"},
        ],
    }


def test_a_run_without_tools_is_as_it_was() -> None:
    with ScriptedServer([result(RUN)]) as server, wardian.Client(server.url) as client:
        client.run_code("1")
        (seen,) = server.seen
    assert "tools" not in seen.body["params"]


def test_coroutines_of_a_run_run_at_the_same_time() -> None:
    async def check(url: str) -> None:
        both = anyio.Event()

        async def first() -> int:
            await both.wait()
            return 1

        async def second() -> int:
            both.set()
            return 2

        async with wardian.AsyncClient(url) as client:
            with anyio.fail_after(10):
                await client.run_code("x", tools=[first, second])

    asked = waiting(tool("c1-r1", "first"), tool("c1-r2", "second"))
    with ScriptedServer([result(asked), result(RUN)]) as server:
        anyio.run(check, server.url)
        answers = server.seen[1].body["params"]["answers"]
    assert [answer["output"] for answer in answers] == [1, 2]


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (Optional[int], {"type": ["integer", "null"]}),  # noqa: UP045
        (int | None, {"type": ["integer", "null"]}),
        (list[float], {"type": "array", "items": {"type": "number"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}),
        (dict, {"type": "object"}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (Colour, {"enum": ["red"]}),
        (Annotated[str, "Words"], {"type": "string", "description": "Words"}),
        (Any, {}),
        (object, {}),
        (list[Any] | str, {"anyOf": [{"type": "array"}, {"type": "string"}]}),
        (
            Line,
            {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "count": {"type": "integer"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["text"],
            },
        ),
        (
            Row,
            {
                "type": "object",
                "properties": {"id": {"type": "integer"}, "note": {"type": "string"}},
                "required": ["id"],
            },
        ),
    ],
)
def test_schemas_of_types(hint: Any, schema: dict[str, Any]) -> None:
    if hint == (list[Any] | str):
        schema = _signatures.schema_of(hint)
        assert schema["type"] == ["array", "string"] or "anyOf" in schema
        return
    assert _signatures.schema_of(hint) == schema


def test_arguments_are_what_the_hints_say() -> None:
    def add(line: Line, lines: list[Line], colour: Colour | None = None, more: int = 3) -> None:
        """Adds."""

    declared = _signatures.schemas_of(add)
    properties = declared["input_schema"]["properties"]
    assert declared["input_schema"]["required"] == ["line", "lines"]
    assert properties["more"] == {"type": "integer", "default": 3}
    assert properties["colour"]["default"] is None
    assert declared["output_schema"] == {"type": "null"}
    raw = {"line": {"text": "a"}, "lines": [{"text": "b", "count": 2}], "colour": "red", "more": 4}
    assert _signatures.filled(add, raw) == {
        "line": Line("a"),
        "lines": [Line("b", 2)],
        "colour": Colour.RED,
        "more": 4,
    }


def test_models_of_pydantic_are_objects() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Lead(pydantic.BaseModel):
        name: str

    def save(lead: Any) -> None:
        """Saves."""

    save.__annotations__["lead"] = Lead
    schema = _signatures.schemas_of(save)["input_schema"]["properties"]["lead"]
    assert schema["properties"]["name"]["type"] == "string"
    assert _signatures.filled(save, {"lead": {"name": "Ada"}})["lead"] == Lead(name="Ada")
    with pytest.raises(ValueError, match="name"):
        _signatures.filled(save, {"lead": {}})


def test_functions_without_a_signature_have_no_schema() -> None:
    def positional(x: int, /) -> None: ...

    def free(**more: int) -> None: ...

    assert _signatures.schemas_of(dict) == {}
    assert "additionalProperties" not in _signatures.schemas_of(free)["input_schema"]
    with pytest.raises(TypeError, match="have names"):
        _signatures.schemas_of(positional)


def test_a_server_calls_functions_of_a_run(client: wardian.Client) -> None:
    ran = client.run_code(PROGRAM, {"tables": ["a", "b"]}, tools={"crm.query": query})
    assert ran.completed().output == {"result": [["a"], ["b"]]}
    said = client.run_code(WRONG, tools=[query]).completed().output
    assert said == {"result": "`arguments.table` must be a string"}


def events(*events: tuple[str, dict[str, Any]]) -> Answer:
    """The answer of a run as events."""
    text = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
    return Answer(content=text.encode(), headers={"content-type": "text/event-stream"})


def asked(number: int, name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return ("request", {"run_id": RUN["run_id"], **tool(f"c1-r{number}", name, **arguments)})


def test_a_stream_answers_requests_while_the_run_goes_on() -> None:
    over = {"jsonrpc": "2.0", "id": 1, "result": {**RUN, "session": None}}
    told = events(
        asked(1, "query", table="a"), asked(2, "query", table="none"), ("response", over)
    )
    taken = Answer(body={"run_id": RUN["run_id"], "accepted": ["c1-r1", "c1-r2"], "repeated": []})
    with ScriptedServer([told, taken]) as server:
        with wardian.Client(server.url) as client:
            with client.stream_code("x", tools=[query]) as run:
                assert list(run) == [] and run.result.is_completed
        call, answers = server.seen
    assert [one["name"] for one in call.body["params"]["tools"]] == ["query"]
    assert answers.path == f"/v1/runs/{RUN['run_id']}/answers"
    assert answers.body == {
        "answers": [
            {"id": "c1-r1", "output": ["a"]},
            {"id": "c1-r2", "error": "LookupError: no such table"},
        ]
    }


def test_a_request_without_a_function_is_an_event() -> None:
    over = {"jsonrpc": "2.0", "id": 1, "result": {**RUN, "session": None}}
    line = {"run_id": RUN["run_id"], "id": "c1-r1", "kind": "input", "prompt": "Name? "}
    taken = Answer(body={"run_id": RUN["run_id"], "accepted": ["c1-r1"], "repeated": []})
    with ScriptedServer([events(("request", line), ("response", over)), taken]) as server:
        with wardian.Client(server.url) as client:
            with client.stream_skill("a.b", tools=[query]) as run:
                with pytest.raises(RuntimeError):
                    run.answer({"c1-r1": "Ada"})
                for event in run:
                    assert isinstance(event, wardian.CallerRequest) and event.prompt == "Name? "
                    assert run.answer({event.id: "Ada"})["accepted"] == ["c1-r1"]
        assert server.seen[1].body == {"answers": [{"id": "c1-r1", "output": "Ada"}]}


def test_a_run_that_ends_without_an_answer_is_no_failure() -> None:
    over = {"jsonrpc": "2.0", "id": 1, "result": {**RUN, "session": None}}
    kind = {"kind": "run_not_found"}
    gone = Answer(404, {"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "m", "data": kind}})
    told = events(asked(1, "query", table="a"), ("response", over))
    with ScriptedServer([told, gone]) as server:
        with wardian.Client(server.url) as client:
            with client.stream_code("x", tools=[query]) as run:
                assert run.wait().is_completed


def test_a_skill_calls_functions() -> None:
    waits = waiting(tool("c1-r1", "query", table="a"))
    over = {name: value for name, value in RUN.items() if name != "session"}
    with ScriptedServer([result(waits), result(over)]) as server:
        with wardian.Client(server.url) as client:
            ran = client.execute_skill("a.b", {"n": 1}, tools=[query])
        first, second = server.seen
    assert ran.is_completed
    assert (first.body["method"], second.body["method"]) == ("execute_skill", "run_code")
    assert [one["name"] for one in first.body["params"]["tools"]] == ["query"]
    assert second.body["params"]["answers"] == [{"id": "c1-r1", "output": ["a"]}]


def test_the_result_has_what_all_parts_printed_and_left() -> None:
    def part(raw: dict[str, Any], number: int, *files: str) -> dict[str, Any]:
        left = [{"path": path, "size_bytes": number, "blob_id": None} for path in files]
        told = {"logs_preview": f"{number}\n", "output_blobs": ["blob:0", f"blob:{number}"]}
        measured = {"duration_ms": number, "memory_peak_bytes": 10 - number, "fuel": 5}
        return {**raw, **told, **measured, "files": left, "display": []}

    first = part(waiting(tool("c1-r1", "query", table="a")), 1, "a", "b")
    second = part(waiting(tool("c1-r2", "query", table="b")), 2, "b")
    last = {**part(RUN, 3, "c"), "logs_preview": "x" * 5_000}
    answers = [result(first), result(second), result(last)]
    with ScriptedServer(answers) as server, wardian.Client(server.url) as client:
        ran = client.run_code("x", tools=[query])
    assert ran.logs_preview == f"1\n2\n{'x' * 4_092}" and ran.logs_truncated
    assert ran.output_blobs == ["blob:0", "blob:1", "blob:2", "blob:3"]
    assert (ran.duration_ms, ran.memory_peak_bytes, ran.fuel) == (6, 9, 15)
    # Those of a whole program are all in its last part.
    assert [file.path for file in ran.files] == ["c"] and ran.raw["logs_truncated"] is True
    with ScriptedServer([made(), *answers]) as server, wardian.Client(server.url) as client:
        ran = client.session().run("x", tools=[query])
    assert [(file.path, file.size_bytes) for file in ran.files] == [("a", 1), ("b", 2), ("c", 3)]
