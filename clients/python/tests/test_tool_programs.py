"""Programs that call tools do what they do where the tools are functions of their own."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, cast

import native_tools
import pytest
from tool_programs import PROGRAMS, Program, World

import wardian

EXPRESSIONS = [name for name, program in PROGRAMS.items() if not program.args and "main" not in program.code]
MANIFEST = """
name = "test.tools.reminders"
version = "1.0.0"
description = "Reminds customers of their open invoices."
kind = "action"

[runtime]
language = "python"
entrypoint = "code/main.py"
export = "main"

[inputs]
customers = { type = "array", required = true }
"""
DOCUMENT = "---\nname: Reminders\nshort_description: Reminds customers.\n---\n\n# Reminders\n"
SKILL = """
import asyncio
from tools import ToolError, billing


async def remind(customer):
    said = []
    for invoice in await billing.invoices(customer=customer):
        try:
            said.append(await billing.remind(number=invoice["number"]))
        except ToolError as error:
            said.append(error.message)
    return said


async def main(args):
    said = await asyncio.gather(*map(remind, args["customers"]))
    print(sum(map(len, said)), "invoices")
    return {"said": said}
"""


@pytest.fixture(scope="module")
def skilled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with a skill that calls tools."""
    folder = tmp_path_factory.mktemp("skills")
    skill = folder / "test.tools.reminders"
    (skill / "code").mkdir(parents=True)
    (skill / "skill.toml").write_text(MANIFEST)
    (skill / "SKILL.md").write_text(DOCUMENT)
    (skill / "code" / "main.py").write_text(SKILL)
    with wardian.LocalServer(skills=folder) as server:
        yield server.url


class Seen:
    """What came of a program, in a form in which both ways can be compared."""

    def __init__(self, world: World, program: Program) -> None:
        self.program = program
        key = functools.partial(json.dumps, sort_keys=True)
        self.calls = sorted(world.calls, key=key) if program.in_any_order else world.calls
        self.value: Any = None
        self.error: tuple[str, str] | None = None
        self.printed = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seen) and self.parts == other.parts

    def __repr__(self) -> str:
        return json.dumps(self.parts, indent=1)

    @property
    def parts(self) -> list[Any]:
        return json.loads(json.dumps([self.value, self.error, self.printed, self.calls]))


def natively(program: Program) -> Seen:
    """What the program does here."""
    world = World()
    ended = native_tools.run(program.code, program.args, world.tools)
    seen = Seen(world, program)
    seen.value, seen.error = with_contents(ended.value, ended.blobs), ended.error
    seen.printed = ended.printed
    return seen


def by_server(
    world: World, program: Program, result: wardian.RunResult, client: wardian.Client
) -> Seen:
    """What the program has done there."""
    seen = Seen(world, program)
    blobs = {blob: client.blobs.read(blob).decode() for blob in result.output_blobs}
    output = result.output
    # What is no object is the member `result` of one.
    if output is not None and set(output) == {"result"}:
        output = output["result"]
    seen.value = with_contents(output, blobs)
    if result.error is not None:
        seen.error = (result.error.type, result.error.message)
    seen.printed = result.logs_preview
    return seen


def with_contents(value: Any, blobs: dict[str, str]) -> Any:
    """A value with what blobs contain instead of their ids."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: with_contents(one, blobs) for name, one in members.items()}
    return blobs.get(value, value) if isinstance(value, str) else value


def coroutines(world: World) -> dict[str, Callable[..., Awaitable[Any]]]:
    """The tools as coroutine functions."""

    def made(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
        @functools.wraps(function)
        async def called(**arguments: Any) -> Any:
            try:
                return function(**arguments)
            finally:
                await asyncio.sleep(0)

        return called

    return {name: made(function) for name, function in world.tools.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_does_what_the_program_does_here(client: wardian.Client, name: str) -> None:
    program, world = PROGRAMS[name], World()
    result = client.run_code(program.code, program.args, tools=world.tools)
    assert by_server(world, program, result, client) == natively(program)


@pytest.mark.parametrize("name", PROGRAMS)
def test_coroutine_functions_do_the_same(client: wardian.Client, name: str) -> None:
    program, world = PROGRAMS[name], World()

    async def run() -> wardian.RunResult:
        async with wardian.AsyncClient(client.url) as there:
            return await there.run_code(program.code, program.args, tools=coroutines(world))

    result = asyncio.run(run())
    assert by_server(world, program, result, client) == natively(program)


@pytest.mark.parametrize("name", PROGRAMS)
def test_events_do_the_same(client: wardian.Client, name: str) -> None:
    program, world = PROGRAMS[name], World()
    printed = ""
    with client.stream_code(program.code, program.args, tools=world.tools) as run:
        for event in run:
            assert isinstance(event, wardian.Output) and event.stream == "stdout"
            printed += event.text
    seen = by_server(world, program, run.result, client)
    seen.printed = printed
    assert seen == natively(program)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_cells_do_the_same(client: wardian.Client, name: str) -> None:
    program, world = PROGRAMS[name], World()
    with client.session() as session:
        result = session.run(program.code, tools=world.tools)
        assert by_server(world, program, result, client) == natively(program)
        assert session.run("1 + 1").output == {"result": 2}


def test_a_skill_does_the_same(skilled: str) -> None:
    args = {"customers": [1, 2, 3]}
    program, world = Program(SKILL, args), World()
    with wardian.Client(skilled) as client:
        result = client.execute_skill("test.tools.reminders", args, tools=world.tools)
        assert by_server(world, program, result, client) == natively(program)
    assert len(world.calls) == 9
