"""Functions that runs call without a session, and their schemas."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import anyio
import pytest
from scripted import ScriptedServer, result
from test_session_requests import ID, RUN
from test_session_tools import query, tool

import wardian
from wardian import _signatures

PROGRAM = """
import asyncio
from tools import crm

async def main(tables):
    return await asyncio.gather(*(crm.query(table=table) for table in tables))
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
    tags: list[str] = field(default_factory=list)


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
            ran = client.run_code("x", {"n": 1}, tools=named, timeout_ms=100, mount_skills=["s"])
        first, second = [seen.body["params"] for seen in server.seen]
    assert ran.is_completed and ran.session is None
    assert first["args"] == {"n": 1} and "session" not in first
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
