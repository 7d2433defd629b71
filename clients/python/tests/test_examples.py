"""The examples that the suites of both clients run, in `clients/examples`."""

from __future__ import annotations

import inspect
import json
import re
import uuid
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from conftest import REPOSITORY
from jsonschema import Draft202012Validator

import wardian
from wardian.errors import CallError

EXAMPLES = sorted((REPOSITORY / "clients" / "examples").glob("*.json"))
OPENRPC: dict[str, Any] = json.loads((REPOSITORY / "clients" / "openrpc.json").read_text())
TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "object": dict,
    "array": list,
    "boolean": bool,
}


def assert_contains(found: Any, expected: Any, place: str) -> None:
    """Checks that a result has what an example says."""
    if isinstance(expected, dict):
        members = cast("dict[str, Any]", expected)
        if "$match" in members:
            assert re.search(members["$match"], found), f"{place}: {found!r}"
            return
        if "$type" in members:
            assert isinstance(found, TYPES[members["$type"]]), f"{place}: {found!r}"
            return
        assert isinstance(found, dict), f"{place}: {found!r}"
        for name, value in members.items():
            if isinstance(value, dict) and "$absent" in value:
                assert name not in found, f"{place}.{name}: {found[name]!r}"
            else:
                assert name in found, f"{place} has no {name}"
                assert_contains(found[name], value, f"{place}.{name}")
    elif isinstance(expected, list):
        items = cast("list[Any]", expected)
        assert isinstance(found, list), f"{place}: {found!r}"
        assert len(cast("list[Any]", found)) == len(items), f"{place}: {found!r}"
        for index, item in enumerate(items):
            assert_contains(found[index], item, f"{place}[{index}]")
    else:
        assert found == expected, f"{place}: {found!r}"


def filled(value: Any, saved: dict[str, str]) -> Any:
    """The value with saved ones in place of their names."""
    if isinstance(value, str):
        return re.sub(r"\$\{(\w+)\}", lambda name: saved[name.group(1)], value)
    if isinstance(value, dict):
        return {k: filled(v, saved) for k, v in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [filled(item, saved) for item in cast("list[Any]", value)]
    return value


def assert_fits_schema(method: str, raw: Any) -> None:
    """Checks a result with the schema of its method in the OpenRPC document."""
    found = next(one for one in OPENRPC["methods"] if one["name"] == method)
    schema = {**found["result"]["schema"], "components": OPENRPC["components"]}
    Draft202012Validator(schema).validate(raw)  # pyright: ignore[reportUnknownMemberType]


class Conversation:
    """The steps of one example."""

    def __init__(self, path: Path) -> None:
        self.steps: list[dict[str, Any]] = json.loads(path.read_text())["steps"]
        self.saved = {"unique": uuid.uuid4().hex}

    def arguments(self, step: dict[str, Any]) -> dict[str, Any]:
        return filled(step["params"], self.saved)

    def check(self, step: dict[str, Any], raw: Any) -> None:
        assert "error" not in step, f"{step['call']} should have been refused: {raw}"
        assert_fits_schema(step["call"], raw)
        assert_contains(raw, filled(step.get("result", {}), self.saved), step["call"])
        for name, path in step.get("save", {}).items():
            value = raw
            for part in path.split("."):
                value = value[part]
            self.saved[name] = value

    def check_error(self, step: dict[str, Any], error: CallError) -> None:
        assert "error" in step, f"{step['call']} was refused: {error.kind}: {error}"
        for name, value in step["error"].items():
            assert getattr(error, name) == value, f"{step['call']}: {name}"
        assert type(error) is not CallError, error.kind


STREAMS = {"run_code": "stream_code", "execute_skill": "stream_skill"}


def raw_of(result: Any) -> Any:
    """The JSON of a result. The guide is only a text."""
    return {"content": result} if isinstance(result, str) else result.raw


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_of_the_synchronous_client(client: wardian.Client, path: Path) -> None:
    talk = Conversation(path)
    for step in talk.steps:
        arguments = talk.arguments(step)
        try:
            if "events" in step:
                method = getattr(client, STREAMS[step["call"]])
                with method(**arguments) as run:
                    names = [type(event).__name__.lower() for event in run]
                assert list(dict.fromkeys(names)) == step["events"]
                talk.check(step, run.result.raw)
            else:
                talk.check(step, raw_of(getattr(client, step["call"])(**arguments)))
        except CallError as error:
            talk.check_error(step, error)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_of_the_asynchronous_client(server: wardian.LocalServer, path: Path) -> None:
    async def run_all() -> None:
        async with wardian.AsyncClient(server.url) as client:
            talk = Conversation(path)
            for step in talk.steps:
                await run_step(client, talk, step)

    anyio.run(run_all)


async def run_step(client: wardian.AsyncClient, talk: Conversation, step: dict[str, Any]) -> None:
    arguments = talk.arguments(step)
    try:
        if "events" in step:
            method = getattr(client, STREAMS[step["call"]])
            async with method(**arguments) as run:
                names = [type(event).__name__.lower() async for event in run]
            assert list(dict.fromkeys(names)) == step["events"]
            talk.check(step, run.result.raw)
        else:
            called = getattr(client, step["call"])(**arguments)
            assert inspect.isawaitable(called)
            talk.check(step, raw_of(await called))
    except CallError as error:
        talk.check_error(step, error)


def test_the_examples_call_every_method() -> None:
    called = {step["call"] for path in EXAMPLES for step in json.loads(path.read_text())["steps"]}
    assert called == {method["name"] for method in OPENRPC["methods"]}
