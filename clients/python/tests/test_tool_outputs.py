"""What functions return: what becomes of it, and of what a server refuses."""

from __future__ import annotations

import datetime
import enum
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Optional, TypedDict

import anyio
import pydantic
import pytest
from conftest import wait_for_no_session
from scripted import ScriptedServer, refusal, result
from test_run_tools import waiting
from test_session_tools import tool

import wardian
from wardian import _signatures
from wardian._caller_tools import caller_tools
from wardian._requests import answers_of
from wardian.tools import ToolBox


@pytest.fixture(scope="module")
def server() -> Iterator[wardian.LocalServer]:
    """A server that has no sessions of other tests."""
    with wardian.LocalServer() as server:
        yield server


TRIED = """
import asyncio
from tools import ToolError, good, odd

async def tried(call):
    try:
        return await call
    except ToolError as error:
        return "refused: " + error.message

async def main(args):
    return await asyncio.gather(tried(good()), tried(odd()))
"""


def value_of(ran: wardian.RunResult) -> Any:
    """The value of a program that has not failed."""
    output: Any = ran.completed().output
    return output["result"] if output and [*output] == ["result"] else output


def deep() -> Any:
    value: Any = 1
    for _ in range(80):
        value = [value]
    return value


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a large number": (lambda: 2**64, "the answer was refused: the number at `output` does not fit into 64 bits"),
    "a number within": (lambda: {"a": [2**70]}, "the number at `output.a[0]` does not fit"),
    "a deep value": (deep, "nested more than 64 levels deep"),
    "a large text": (lambda: "x" * (17 << 20), "the answer was refused: a body may have at most 16 MiB"),
    "a very large text": (lambda: "x" * (40 << 20), "NotJson: the output has 40 MiB"),
    "names that are equal": (lambda: {1: 1, "1": 2}, "`output.1` appears twice"),
    "half a character": (lambda: "\ud800", "UnicodeEncodeError"),
    "an error with half a character": (lambda: (_ for _ in ()).throw(KeyError("\ud800")), "KeyError: '"),
    "an error without a text": (lambda: (_ for _ in ()).throw(Mute()), "Mute"),
}


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("case", REFUSED)
def test_an_output_that_the_server_refuses_is_an_error_of_its_tool(
    client: wardian.Client, case: str
) -> None:
    odd, said = REFUSED[case]
    functions: Any = {"good": lambda: [1], "odd": odd}
    good, refused = value_of(client.run_code(TRIED, tools=functions))
    assert good == [1] and said in refused, refused
    with client.stream_code(TRIED, tools=functions) as run:
        good, refused = value_of(run.wait())
    assert good == [1] and said in refused, refused
    with client.session() as session:
        cell = session.run(TRIED + "\nawait main({})", tools=functions)
        assert value_of(cell) == [good, refused]
    wait_for_no_session(client)


def test_an_asynchronous_client_tells_the_program_too(server: wardian.LocalServer) -> None:
    async def good() -> list[int]:
        return [1]

    value: Any = None

    async def odd() -> Any:
        return value

    async def check() -> None:
        nonlocal value
        async with wardian.AsyncClient(server.url) as client:
            for value in (2**64, "x" * (20 << 20)):
                ran = value_of(await client.run_code(TRIED, tools=[good, odd]))
                assert ran[0] == [1] and "the answer was refused: " in ran[1]
                async with client.stream_code(TRIED, tools=[good, odd]) as run:
                    ran = value_of(await run.wait())
                assert ran[0] == [1] and "the answer was refused: " in ran[1]

    anyio.run(check)


def test_arguments_of_an_approval_that_the_server_refuses_are_no_approval(
    tool_server: wardian.LocalServer,
) -> None:
    code = """
from tools import ToolError, py
try:
    said = await py.erase(n=1)
except ToolError as error:
    said = error.message
said
"""
    approvals: list[Any] = [{"n": 2**64}, {"n": "x"}, {"n": deep()}, {"n": {1, 2}}]
    with wardian.Client(tool_server.url) as client:
        for given in approvals:
            ran = client.run_code(code, approve=lambda name, arguments, given=given: given)
            said = value_of(ran)
            assert isinstance(said, str) and "erased" not in said, said
        wait_for_no_session(client)


def test_only_the_answer_that_is_refused_becomes_an_error() -> None:
    asked = waiting(tool("c1-r1", "f"), tool("c1-r2", "g"))
    error = refusal(400, "invalid_request")
    error.body["error"]["message"] = "the number at `params.answers[1].output[0]` does not fit"
    over = result({**waiting(), "status": "completed", "session": None})
    with ScriptedServer([result(asked), error, over]) as server:
        with wardian.Client(server.url) as client:
            client.run_code("x", tools={"f": lambda: 0, "g": lambda: [2**64]})
        second, third = (seen.body["params"]["answers"] for seen in server.seen[1:])
    assert [list(one) for one in second] == [["id", "output"], ["id", "output"]]
    assert third[0] == {"id": "c1-r1", "output": 0}
    assert third[1] == {
        "id": "c1-r2",
        "error": "the answer was refused: the number at `output[0]` does not fit",
    }


class Colour(enum.Enum):
    RED = "red"


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    a: int
    when: datetime.date = datetime.date(2026, 1, 2)
    colour: Colour = Colour.RED
    short: str = pydantic.Field(default="s", serialization_alias="long")

    @pydantic.computed_field
    @property
    def twice(self) -> int:
        return 2 * self.a


MODEL = {"a": 1, "when": "2026-01-02", "colour": "red", "long": "s", "twice": 2}


@dataclass
class Line:
    text: str
    day: datetime.date | None = None
    models: list[Model] = field(default_factory=lambda: [])
    tags: frozenset[str] = frozenset()


class Pair(NamedTuple):
    left: int
    line: Line | None = None


class Row(TypedDict):
    line: Line
    pair: Pair


DAY = datetime.date(2026, 3, 4)
LINE = Line("a", DAY, [Model(a=1)], frozenset({"y", "x"}))
LINE_JSON = {"text": "a", "day": "2026-03-04", "models": [MODEL], "tags": ["x", "y"]}

RETURNED: list[tuple[Any, Any, Any]] = [
    (Model, Model(a=1), MODEL),
    (Model, {"a": 1}, MODEL),
    (list[Model], [Model(a=1)], [MODEL]),
    (dict[str, Model], {"m": Model(a=1)}, {"m": MODEL}),
    (Optional[Model], Model(a=1), MODEL),  # noqa: UP045
    (Model | None, None, None),
    (tuple[int, Model], (1, Model(a=1)), [1, MODEL]),
    (Line, LINE, LINE_JSON),
    (list[Line], partial(iter, [LINE]), [LINE_JSON]),
    (Row, {"line": LINE, "pair": Pair(1, LINE)}, {"line": LINE_JSON, "pair": [1, LINE_JSON]}),
    (Pair, Pair(1), [1, None]),
    (Colour, Colour.RED, "red"),
    (set[int], {2, 1}, [1, 2]),
    (datetime.date, DAY, "2026-03-04"),
    (Line | Colour, Colour.RED, "red"),
    (Any, [Model(a=1), LINE, {"c": Colour.RED}], [MODEL, LINE_JSON, {"c": "red"}]),
]


@pytest.mark.parametrize(("hint", "value", "json_value"), RETURNED)
def test_outputs_are_what_the_hint_declares(
    client: wardian.Client, hint: Any, value: Any, json_value: Any
) -> None:
    def odd() -> Any:
        return value() if callable(value) else value

    odd.__annotations__["return"] = hint
    code = "from tools import odd\nawait odd()"
    ran = client.run_code(code, tools=[odd]).completed()
    assert value_of(ran) == json_value
    with client.stream_code(code, tools=[odd]) as run:
        assert run.wait().completed().output == ran.output


def test_models_of_coroutines_and_of_answers_are_json(server: wardian.LocalServer) -> None:
    async def odd() -> list[Model]:
        return [Model(a=1)]

    async def check() -> None:
        async with wardian.AsyncClient(server.url) as client:
            ran = await client.run_code("from tools import odd\nawait odd()", tools=[odd])
            assert value_of(ran) == [MODEL]

    anyio.run(check)
    assert answers_of({"r": Model(a=1)}) == [{"id": "r", "output": MODEL}]


def test_models_within_models_are_described_and_checked(client: wardian.Client) -> None:
    class Inner(pydantic.BaseModel):
        v: int

    class Outer(pydantic.BaseModel):
        inner: Inner

    def other() -> type[pydantic.BaseModel]:
        class Inner(pydantic.BaseModel):
            w: str

        class Other(pydantic.BaseModel):
            inner: Inner

        return Other

    def odd(one: Any, two: Any) -> Any:
        return [{"inner": {"v": "x"}}]

    odd.__annotations__ = {"one": Outer, "two": other(), "return": list[Outer]}
    schema = _signatures.schemas_of(odd)["input_schema"]
    assert {name: [*one["properties"]] for name, one in schema["$defs"].items()} == {
        "Inner": ["v"],
        "Inner_2": ["w"],
    }
    two = schema["properties"]["two"]["properties"]["inner"]
    assert two == {"$ref": "#/$defs/Inner_2"}
    tried = "import tools\ntry:\n    await tools.odd(one={}, two={})\nexcept tools.ToolError as error:\n    x = str(error)\nx"
    for arguments, said in [
        ("one={'inner': {'v': 'a'}}, two={'inner': {'w': 'a'}}", "`arguments.one.inner.v` must be an integer"),
        ("one={'inner': {'v': 1}}, two={'inner': {'w': 1}}", "`arguments.two.inner.w` must be a string"),
        ("one={'inner': {'v': 1}}, two={'inner': {'w': ''}}", "[0].inner.v` must be an integer"),
    ]:
        code = tried.replace("one={}, two={}", arguments)
        assert said in value_of(client.run_code(code, tools=[odd]))


def test_a_model_gets_what_a_function_returns(client: wardian.Client) -> None:
    def find() -> list[Model]:
        """Finds."""
        return [Model(a=1)]

    callers = {"find": ["direct", "code"]}
    box = ToolBox(client, functions=[find], allowed_callers=callers)
    answer = box.call("find", {})
    assert (json.loads(answer.text), answer.is_error) == ([MODEL], False)
    code = "import tools\nawait tools.find()"
    ran = json.loads(box.call("run_code", {"language": "python", "code": code}).text)
    assert ran["output"] == {"result": [MODEL]}


def test_a_blob_that_a_hint_names_is_its_id(client: wardian.Client) -> None:
    blob = client.blobs.upload(b"abc")

    def odd() -> wardian.Blob:
        return blob

    assert _signatures.schemas_of(odd)["output_schema"] == {"type": "string"}
    ran = client.run_code("from tools import odd\nawait odd()", tools=[odd]).completed()
    assert ran.output == {"result": blob.blob_id}


def test_what_json_cannot_represent_is_named(client: wardian.Client) -> None:
    for value, said in [
        (datetime.date.today(), "`output` is a date"),
        ({"a": [{1}]}, "`output.a[0]` is a set"),
        (object(), "`output` is a object"),
    ]:
        (answer,) = answers_of({"r": value})
        assert said in str(answer["error"])


def test_named_tuples_and_tuples_are_arguments_too() -> None:
    def save(pair: Pair, both: tuple[int, Line]) -> None: ...

    declared = _signatures.schemas_of(save)["input_schema"]["properties"]["pair"]
    assert (declared["type"], declared["minItems"], declared["maxItems"]) == ("array", 1, 2)
    given = {"pair": [1, {"text": "a"}], "both": [1, {"text": "b"}]}
    assert _signatures.filled(save, given) == {"pair": Pair(1, Line("a")), "both": (1, Line("b"))}


def test_a_function_of_a_model_returns_json_as_well() -> None:
    def odd() -> Model:
        return Model(a=1)

    made = caller_tools([odd], awaits=False)["odd"]
    assert json.loads(json.dumps(made.call({}))) == MODEL
