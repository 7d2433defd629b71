"""Tool loops and tool objects with the published packages, against models that follow a script."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import anthropic
import openai
import pytest
from conftest import REPOSITORY
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from scripted import Answer, ScriptedServer, Seen

import wardian
import wardian.anthropic
import wardian.langchain
import wardian.openai
import wardian.pydantic_ai
from wardian.tools import ToolBox

CODE = {"language": "python", "code": "args['a'] * args['b']", "args": {"a": 6, "b": 7}}


def openai_answer(message: dict[str, Any]) -> Answer:
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return Answer(body=body)


def openai_model(seen: Seen) -> Answer:
    """Runs code, then calls wrongly, then tells the number that it was given."""
    results = [one["content"] for one in seen.body["messages"] if one["role"] == "tool"]
    if len(results) == 2:
        value = json.loads(results[0])["output"]["result"]
        kind = json.loads(results[1])["error"]["kind"]
        return openai_answer({"role": "assistant", "content": f"{value}, {kind}"})
    arguments = json.dumps(CODE) if not results else '{"limit": 0}'
    name = "run_code" if not results else "list_skills"
    call = {"id": f"call_{len(results)}", "type": "function"}
    call["function"] = {"name": name, "arguments": arguments}  # type: ignore[assignment]
    return openai_answer({"role": "assistant", "content": None, "tool_calls": [call]})


def test_the_loop_for_openai(client: wardian.Client) -> None:
    with (
        ScriptedServer(openai_model) as model,
        openai.OpenAI(api_key="k", base_url=f"{model.url}/v1", max_retries=0) as sdk,
    ):
        run = wardian.openai.run_tools(
            sdk, client, model="m", messages=[{"role": "user", "content": "6 times 7?"}]
        )
        assert (run.text, run.calls) == ("42, invalid_params", 2)
        roles = [message["role"] for message in run.messages]
        assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
        names = [tool["function"]["name"] for tool in model.seen[0].body["tools"]]
        assert len(names) == 8 and "run_code" in names


def test_the_asynchronous_loop_for_openai(server: wardian.LocalServer) -> None:
    async def run() -> str:
        with ScriptedServer(openai_model) as model:
            async with (
                openai.AsyncOpenAI(api_key="k", base_url=f"{model.url}/v1", max_retries=0) as sdk,
                wardian.AsyncClient(server.url) as client,
            ):
                found = await wardian.openai.run_tools_async(
                    sdk, client, model="m", messages=[{"role": "user", "content": "?"}]
                )
                return found.text

    assert asyncio.run(run()) == "42, invalid_params"


def test_a_model_that_never_answers_is_stopped(client: wardian.Client) -> None:
    function = {"name": "list_skills", "arguments": ""}
    call = {"id": "c", "type": "function", "function": function}
    forever = openai_answer({"role": "assistant", "content": None, "tool_calls": [call]})
    with (
        ScriptedServer([forever]) as model,
        openai.OpenAI(api_key="k", base_url=f"{model.url}/v1", max_retries=0) as sdk,
        pytest.raises(wardian.openai.TooManyTurns),
    ):
        wardian.openai.run_tools(
            sdk, client, model="m", messages=[{"role": "user", "content": "?"}], max_turns=3
        )
    assert len(model.seen) == 3


def anthropic_answer(content: list[dict[str, Any]]) -> Answer:
    usage = {"input_tokens": 1, "output_tokens": 1}
    body = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content}
    reason = "tool_use" if content[-1]["type"] == "tool_use" else "end_turn"
    return Answer(body={**body, "stop_reason": reason, "stop_sequence": None, "usage": usage})


def anthropic_model(seen: Seen) -> Answer:
    """As `openai_model`, with both calls in one turn."""
    last = seen.body["messages"][-1]["content"]
    if isinstance(last, str):
        good = {"type": "tool_use", "id": "t1", "name": "run_code", "input": CODE}
        bad = {"type": "tool_use", "id": "t2", "name": "list_skills", "input": {"limit": 0}}
        return anthropic_answer([{"type": "text", "text": "Let me see."}, good, bad])
    assert [result["is_error"] for result in last] == [False, True]
    value = json.loads(last[0]["content"])["output"]["result"]
    return anthropic_answer([{"type": "text", "text": f"It is {value}."}])


def test_the_loop_for_anthropic(client: wardian.Client) -> None:
    with (
        ScriptedServer(anthropic_model) as model,
        anthropic.Anthropic(api_key="k", base_url=model.url, max_retries=0) as sdk,
    ):
        run = wardian.anthropic.run_tools(
            sdk,
            client,
            model="m",
            max_tokens=100,
            messages=[{"role": "user", "content": "6 times 7?"}],
        )
        assert (run.text, run.calls) == ("It is 42.", 2)
        assert [message["role"] for message in run.messages] == ["user", "assistant"] * 2
        assert {"name", "description", "input_schema"} == set(model.seen[0].body["tools"][0])


def test_the_asynchronous_loop_for_anthropic(server: wardian.LocalServer) -> None:
    async def run() -> str:
        with ScriptedServer(anthropic_model) as model:
            async with (
                anthropic.AsyncAnthropic(api_key="k", base_url=model.url, max_retries=0) as sdk,
                wardian.AsyncClient(server.url) as client,
            ):
                found = await wardian.anthropic.run_tools_async(
                    sdk,
                    client,
                    model="m",
                    max_tokens=100,
                    messages=[{"role": "user", "content": "?"}],
                )
                return found.text

    assert asyncio.run(run()) == "It is 42."


def called(tool: BaseTool, arguments: dict[str, Any]) -> Any:
    """Calls a tool as an agent does: with the call of a message."""
    message = AIMessage("", tool_calls=[{"name": tool.name, "args": arguments, "id": "c"}])
    return tool.invoke(message.tool_calls[0])  # pyright: ignore[reportUnknownMemberType]


def test_the_tools_for_langchain(client: wardian.Client) -> None:
    tools = {tool.name: tool for tool in wardian.langchain.tools(client)}
    assert len(tools) == 8
    good = called(tools["run_code"], CODE)
    assert json.loads(good.content)["output"] == {"result": 42} and good.status == "success"
    bad = called(tools["list_skills"], {"limit": 0})
    assert json.loads(bad.content)["error"]["kind"] == "invalid_params" and bad.status == "error"
    assert "language" in tools["run_code"].args
    only = wardian.langchain.tools(client, only=["list_skills"])
    assert [tool.name for tool in only] == ["list_skills"]


def pydantic_model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Runs code, then tells the number that it was given."""
    last = messages[-1]
    assert isinstance(last, ModelRequest)
    returned = [part for part in last.parts if isinstance(part, ToolReturnPart)]
    if not returned:
        assert len(info.function_tools) == 2
        return ModelResponse(parts=[ToolCallPart("run_code", CODE)])
    value = json.loads(str(returned[0].content))["output"]["result"]
    return ModelResponse(parts=[TextPart(f"It is {value}.")])


def test_the_tools_for_pydantic_ai(client: wardian.Client) -> None:
    tools = wardian.pydantic_ai.tools(client, only=["run_code", "read_blob"])
    agent = Agent(FunctionModel(pydantic_model), tools=tools)
    assert asyncio.run(agent.run("6 times 7?")).output == "It is 42."


def test_a_tool_that_was_not_given_cannot_be_called(client: wardian.Client) -> None:
    box = ToolBox(client, only=["list_skills"])
    assert len(box.definitions("anthropic")) == 1
    refused = box.call("run_code", CODE)
    assert refused.is_error and "invalid_params" in refused.text
    assert box.call("list_skills", "no json").is_error
    assert not box.call("list_skills", None).is_error


def nested(depth: int) -> list[Any]:
    deep: list[Any] = []
    for _ in range(depth):
        deep = [deep]
    return deep


BAD: dict[str, Any] = {
    "nan": {**CODE, "args": {"a": float("nan")}},
    "infinite": {**CODE, "args": {"a": float("inf")}},
    "half a character": {**CODE, "code": "'\ud800'"},
    "deep": {**CODE, "args": {"a": nested(900)}},
}


@pytest.mark.parametrize("arguments", BAD.values(), ids=BAD)
def test_arguments_that_cannot_be_sent_are_an_answer(
    client: wardian.Client, arguments: dict[str, Any]
) -> None:
    box = ToolBox(client)
    for form in (arguments, json.dumps(arguments)):
        answer = box.call("run_code", form)
        assert answer.is_error and json.loads(answer.text)["error"]["kind"] == "invalid_params"


def test_arguments_that_are_no_object_are_an_answer(client: wardian.Client) -> None:
    others: list[Any] = [[1], "[1]", "1e400", "[" * 100_000, '{"a": ' + "1" * 5_000 + "}"]
    for arguments in others:
        answer = ToolBox(client).call("run_code", arguments)
        assert answer.is_error and json.loads(answer.text)["error"]["kind"] == "invalid_params"


def test_an_answer_that_quotes_half_a_character_can_be_sent(client: wardian.Client) -> None:
    answer = ToolBox(client, only=["run_code"]).call("\ud800", {})
    assert answer.is_error and b"unknown tool `?`" in answer.text.encode()


def test_one_tool_is_a_text_and_an_unknown_one_is_an_error(client: wardian.Client) -> None:
    definitions = ToolBox(client, only="run_code").definitions()
    assert [one["name"] for one in definitions] == ["run_code"]
    with pytest.raises(ValueError, match="no tool run_cod exists; the tools are create_blob, "):
        ToolBox(client, only=["run_cod", "run_code"]).definitions()


@pytest.mark.parametrize("arguments", BAD.values(), ids=BAD)
def test_the_loop_for_openai_survives_such_arguments(
    client: wardian.Client, arguments: dict[str, Any]
) -> None:
    def model(seen: Seen) -> Answer:
        results = [one["content"] for one in seen.body["messages"] if one["role"] == "tool"]
        if results:
            kinds = [json.loads(one)["error"]["kind"] for one in results]
            return openai_answer({"role": "assistant", "content": ", ".join(kinds)})
        # One level of quotes leaves the half of a character as such in the text of the arguments.
        texts = [json.dumps(arguments), json.dumps(arguments, ensure_ascii=False)]
        calls = [
            {"id": text[:9], "type": "function", "function": {"name": "run_code", "arguments": text}}
            for text in texts
        ]
        return openai_answer({"role": "assistant", "content": "\ud800", "tool_calls": calls})

    with (
        ScriptedServer(model) as served,
        openai.OpenAI(api_key="k", base_url=f"{served.url}/v1", max_retries=0) as sdk,
    ):
        run = wardian.openai.run_tools(
            sdk, client, model="m", messages=[{"role": "user", "content": "?"}]
        )
    assert run.text == "invalid_params, invalid_params"


def test_a_custom_tool_that_a_model_makes_up_is_answered(client: wardian.Client) -> None:
    def model(seen: Seen) -> Answer:
        last = seen.body["messages"][-1]
        if last["role"] == "tool":
            assert last["tool_call_id"] == "c1"
            return openai_answer({"role": "assistant", "content": last["content"]})
        call = {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
        return openai_answer({"role": "assistant", "content": None, "tool_calls": [call]})

    with (
        ScriptedServer(model) as served,
        openai.OpenAI(api_key="k", base_url=f"{served.url}/v1", max_retries=0) as sdk,
    ):
        run = wardian.openai.run_tools(
            sdk, client, model="m", messages=[{"role": "user", "content": "?"}]
        )
    assert "unknown tool `shell`" in run.text and run.calls == 1


@pytest.mark.parametrize(
    "arguments", [*BAD.values(), {**CODE, "args": {"a": nested(400)}}], ids=[*BAD, "less deep"]
)
def test_the_loop_for_anthropic_survives_such_arguments(
    client: wardian.Client, arguments: dict[str, Any]
) -> None:
    def model(seen: Seen) -> Answer:
        last = seen.body["messages"][-1]["content"]
        if isinstance(last, str):
            text = {"type": "text", "text": "\ud800"}
            call = {"type": "tool_use", "id": "t1", "name": "run_code", "input": arguments}
            return anthropic_answer([text, call])
        assert last[0]["is_error"]
        return anthropic_answer([{"type": "text", "text": last[0]["content"]}])

    with (
        ScriptedServer(model) as served,
        anthropic.Anthropic(api_key="k", base_url=served.url, max_retries=0) as sdk,
    ):
        run = wardian.anthropic.run_tools(
            sdk, client, model="m", max_tokens=9, messages=[{"role": "user", "content": "?"}]
        )
    assert json.loads(run.text)["error"]["kind"] in ("invalid_params", "parse_error")


def test_the_package_needs_no_extra() -> None:
    missing = ("openai", "agents", "anthropic", "langchain_core", "pydantic_ai", "pandas")
    source = REPOSITORY / "clients" / "python" / "src"
    program = (
        f"import sys\nfor name in {missing}: sys.modules[name] = None\n"
        f"sys.path.insert(0, {str(source)!r})\nimport wardian, wardian.tools\n"
        "wardian.Client('http://127.0.0.1:1').skills['a.b']\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
