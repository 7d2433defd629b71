"""Tools of LangChain and Pydantic AI as the tools of a run."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel
from pydantic_ai import RunContext, Tool, ToolReturn
from scripted import ScriptedServer, result
from test_run_tools import waiting
from test_session_requests import RUN

import wardian

PROGRAM = """
import asyncio
from tools import ToolError, find, totals

async def main():
    rows, sums = await asyncio.gather(find(query="a"), totals(number="1", lines=[2, 3]))
    try:
        await find(query="")
    except ToolError as error:
        failed = error.message
    return {"rows": rows, "sums": sums, "failed": failed}
"""


class Row(BaseModel):
    name: str
    since: datetime.date


class Invoice(BaseModel):
    number: str
    lines: list[float]


def find(query: str, limit: int = 2) -> list[Row]:
    """Searches the customers."""
    if not query:
        raise ToolException("an empty query")
    return [Row(name=f"{query}{n}", since=datetime.date(2026, 1, n + 1)) for n in range(limit)]


async def find_async(query: str, limit: int = 2) -> list[Row]:
    """Searches the customers."""
    await asyncio.sleep(0)
    return find(query, limit)


def totals(invoice: Invoice) -> ToolReturn[Any]:
    """Adds the lines of an invoice."""
    return ToolReturn({"total": sum(invoice.lines)}, content="for the model only")


async def totals_async(invoice: Invoice) -> dict[str, float]:
    """Adds the lines of an invoice."""
    await asyncio.sleep(0)
    return {"total": sum(invoice.lines)}


def of_context(context: RunContext[None], n: int) -> int:
    """Needs an agent."""
    return n


SYNC: list[Any] = [StructuredTool.from_function(find), Tool[None](totals)]
ASYNC: list[Any] = [
    StructuredTool.from_function(coroutine=find_async, name="find"),
    Tool[None](totals_async, name="totals"),
]
ROWS = [{"name": "a0", "since": "2026-01-01"}, {"name": "a1", "since": "2026-01-02"}]


def asked() -> list[dict[str, Any]]:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("find", {"query": "a"}),
        ("find", {"query": ""}),
        ("totals", {"number": "1", "lines": [2, 3]}),
        ("totals", {"number": "1"}),
    ]
    return [
        {"id": f"c1-r{at}", "kind": "tool", "name": name, "arguments": arguments}
        for at, (name, arguments) in enumerate(calls)
    ]


def check(server: ScriptedServer) -> None:
    begun, answered = [seen.body["params"] for seen in server.seen]
    first, second = begun["tools"]
    assert (first["name"], first["description"]) == ("find", "Searches the customers.")
    assert first["input_schema"]["required"] == ["query"]
    assert first["input_schema"]["properties"]["limit"]["default"] == 2
    assert (second["name"], second["description"]) == ("totals", "Adds the lines of an invoice.")
    # Pydantic AI takes the members of an only model as arguments.
    assert second["input_schema"]["required"] == ["number", "lines"]
    rows, failed, sums, misfit = answered["answers"]
    assert rows["output"] == ROWS
    assert failed["error"] == "ToolException: an empty query"
    assert sums["output"] == {"total": 5.0}
    assert misfit["error"].startswith("ValidationError: ") and "lines" in misfit["error"]


def test_their_names_schemas_and_outputs_are_those_of_the_run() -> None:
    with ScriptedServer([result(waiting(*asked())), result(RUN)]) as server:
        with wardian.Client(server.url) as client:
            client.run_code("x", tools=SYNC)
        check(server)


@pytest.mark.parametrize("tools", [SYNC, ASYNC], ids=["functions", "coroutines"])
def test_an_asynchronous_client_takes_both_forms(tools: list[Any]) -> None:
    async def run(url: str) -> None:
        async with wardian.AsyncClient(url) as client:
            await client.run_code("x", tools=tools)

    with ScriptedServer([result(waiting(*asked())), result(RUN)]) as server:
        asyncio.run(run(server.url))
        check(server)


def test_a_program_calls_them(client: wardian.Client) -> None:
    async def run() -> wardian.RunResult:
        async with wardian.AsyncClient(client.url) as there:
            return await there.run_code(PROGRAM, tools=ASYNC)

    expected = {"rows": ROWS, "sums": {"total": 5.0}, "failed": "ToolException: an empty query"}
    assert client.run_code(PROGRAM, tools=SYNC).completed().output == expected
    assert asyncio.run(run()).completed().output == expected


def test_other_names_and_schemas_as_json() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    def double(**arguments: int) -> int:
        return 2 * arguments["n"]

    listed: BaseTool = StructuredTool.from_function(
        func=double, name="double", description="Doubles.", args_schema=schema, infer_schema=False
    )
    named = Tool[None].from_schema(double, name="double", description="Doubles.", json_schema=schema)
    call = {"kind": "tool", "arguments": {"n": 4}}
    calls = [{**call, "id": f"c1-r{at}", "name": name} for at, name in enumerate(("a.b", "c"))]
    with ScriptedServer([result(waiting(*calls)), result(RUN)]) as server:
        with wardian.Client(server.url) as client:
            client.run_code("x", tools={"a.b": listed, "c": named})
        begun, answered = [seen.body["params"] for seen in server.seen]
    assert [one["name"] for one in begun["tools"]] == ["a.b", "c"]
    assert [one["input_schema"]["required"] for one in begun["tools"]] == [["n"], ["n"]]
    assert [answer["output"] for answer in answered["answers"]] == [8, 8]


def test_what_a_client_cannot_call_is_refused() -> None:
    plain: dict[str, Any] = {"find": find_async}
    needs_approval = Tool[None](totals, requires_approval=True)
    with ScriptedServer([result(RUN)]) as server, wardian.Client(server.url) as client:
        for tools in ([ASYNC[0]], [ASYNC[1]], plain):
            with pytest.raises(TypeError, match="`(find|totals)` is a coroutine: use an `AsyncClient`"):
                client.run_code("x", tools=tools)
        with pytest.raises(TypeError, match="the context of the agent"):
            client.run_code("x", tools=[Tool[None](of_context)])
        with pytest.raises(TypeError, match="requires an approval"):
            client.run_code("x", tools=[needs_approval])
        assert server.seen == []
