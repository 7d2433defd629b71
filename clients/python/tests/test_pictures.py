"""Models see the pictures of runs, with the published packages."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import agents
import anthropic
import openai
import pytest
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from scripted import Answer, ScriptedServer, Seen
from test_models import anthropic_answer, called, openai_answer

import wardian
import wardian.anthropic
import wardian.langchain
import wardian.openai
import wardian.openai_agents
import wardian.pydantic_ai
from wardian.tools import ToolBox

PNG = b"\x89PNG\r\n\x1a\n"
DRAW = """
from PIL import Image
Image.new("RGB", (8, 8), "red").save("red.png")
open("fake.png", "wb").write(b"no picture")
"""
CODE = {"language": "python", "code": DRAW}


def is_png(text: str) -> bool:
    return base64.b64decode(text).startswith(PNG)


def test_pictures_of_runs_are_in_the_answer(client: wardian.Client) -> None:
    answer = ToolBox(client).call("run_code", CODE)
    assert [(one.name, one.kind) for one in answer.pictures] == [("red.png", "image/png")]
    assert answer.pictures[0].data.startswith(PNG)
    assert "red.png" in answer.text and "fake.png" in answer.text
    read = ToolBox(client).call("read_blob", {"blob_id": answer.pictures[0].blob_id})
    assert read.pictures[0].data == answer.pictures[0].data
    assert ToolBox(client, pictures=False).call("run_code", CODE).pictures == []


def test_a_picture_that_the_program_returns_is_shown(client: wardian.Client) -> None:
    code = f"from runtime import blobs\n{DRAW}\nblobs.write_bytes(open('red.png', 'rb').read(), 'image/png')"
    answer = ToolBox(client).call("run_code", {**CODE, "code": code, "keep_files": False})
    assert len(answer.pictures) == 1 and answer.pictures[0].kind == "image/png"


def test_pictures_are_bounded(client: wardian.Client) -> None:
    many = (
        "import os\nfor n in range(9):\n"
        "    open(f'{n}.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + os.urandom(%d))"
    )
    answer = ToolBox(client).call("run_code", {**CODE, "code": many % 1_000})
    assert len(answer.pictures) == 4
    answer = ToolBox(client).call("run_code", {**CODE, "code": many % 900_000})
    assert len(answer.pictures) == 2
    answer = ToolBox(client).call("run_code", {**CODE, "code": many % 1_100_000})
    assert answer.pictures == [] and "8.png" in answer.text


def test_openai_sees_pictures_in_a_message_after_the_tools(client: wardian.Client) -> None:
    def model(seen: Seen) -> Answer:
        messages = seen.body["messages"]
        if messages[-1]["role"] == "user" and isinstance(messages[-1]["content"], list):
            text, image = messages[-1]["content"]
            head, _, data = image["image_url"]["url"].partition(",")
            assert head == "data:image/png;base64" and is_png(data) and "red.png" in text["text"]
            # Nothing may stand between the answers of the calls.
            assert [one["role"] for one in messages[-3:]] == ["tool", "tool", "user"]
            return openai_answer({"role": "assistant", "content": "It is red."})
        function = {"name": "run_code", "arguments": json.dumps(CODE)}
        other = {"name": "list_skills", "arguments": "{}"}
        calls = [
            {"id": f"c{at}", "type": "function", "function": one}
            for at, one in enumerate((function, other))
        ]
        return openai_answer({"role": "assistant", "content": None, "tool_calls": calls})

    with (
        ScriptedServer(model) as served,
        openai.OpenAI(api_key="k", base_url=f"{served.url}/v1", max_retries=0) as sdk,
    ):
        run = wardian.openai.run_tools(
            sdk, client, model="m", messages=[{"role": "user", "content": "Draw."}]
        )
    assert run.text == "It is red."


def responses_answer(output: list[dict[str, Any]]) -> Answer:
    body = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": output}
    rest: dict[str, Any] = {"status": "completed", "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return Answer(body={**body, **rest})


def said(text: str) -> dict[str, Any]:
    content: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
    start = {"id": "m1", "type": "message", "role": "assistant", "status": "completed"}
    return {**start, "content": [content]}


def responses_model(seen: Seen) -> Answer:
    """Draws and calls wrongly, then tells what it was shown."""
    outputs = [one for one in seen.body["input"] if one.get("type") == "function_call_output"]
    if outputs:
        assert [one["call_id"] for one in outputs] == ["c0", "c1"]
        text, image = outputs[0]["output"]
        assert json.loads(text["text"])["status"] == "completed" and text["type"] == "input_text"
        assert is_png(image["image_url"].partition("base64,")[2])
        return responses_answer([said(json.loads(outputs[1]["output"])["error"]["kind"])])
    assert all("function" not in tool for tool in seen.body["tools"])
    calls = [("run_code", json.dumps(CODE)), ("list_skills", '{"limit": 0}')]
    return responses_answer(
        [
            {"type": "reasoning", "id": "rs", "summary": []},
            *(
                {"type": "function_call", "call_id": f"c{at}", "name": name, "arguments": arguments}
                for at, (name, arguments) in enumerate(calls)
            ),
        ]
    )


def test_the_loop_for_responses(client: wardian.Client) -> None:
    with (
        ScriptedServer(responses_model) as served,
        openai.OpenAI(api_key="k", base_url=f"{served.url}/v1", max_retries=0) as sdk,
    ):
        run = wardian.openai.run_responses(sdk, client, model="m", input="Draw.")
        assert (run.text, run.calls) == ("invalid_params", 2)
        kinds = [one.get("type", "message") for one in run.input]
        assert kinds == [
            "message",
            "reasoning",
            *["function_call"] * 2,
            *["function_call_output"] * 2,
            "message",
        ]
        assert len(served.seen[0].body["tools"]) == 8


def test_the_asynchronous_loop_for_responses(server: wardian.LocalServer) -> None:
    async def run() -> str:
        with ScriptedServer(responses_model) as served:
            async with (
                openai.AsyncOpenAI(api_key="k", base_url=f"{served.url}/v1", max_retries=0) as sdk,
                wardian.AsyncClient(server.url) as client,
            ):
                found = await wardian.openai.run_responses_async(
                    sdk, client, model="m", input=[{"role": "user", "content": "Draw."}]
                )
                return found.text

    assert asyncio.run(run()) == "invalid_params"


def test_a_loop_for_responses_that_does_not_end_is_stopped(client: wardian.Client) -> None:
    call = {"type": "custom_tool_call", "call_id": "c", "name": "shell", "input": "ls"}
    with (
        ScriptedServer([responses_answer([call])]) as served,
        openai.OpenAI(api_key="k", base_url=f"{served.url}/v1", max_retries=0) as sdk,
        pytest.raises(wardian.openai.TooManyTurns),
    ):
        wardian.openai.run_responses(sdk, client, model="m", input="?", max_turns=2)
    assert len(served.seen) == 2
    answer = served.seen[1].body["input"][-1]
    assert answer["type"] == "custom_tool_call_output" and "unknown tool `shell`" in answer["output"]


@pytest.mark.parametrize("fails", [False, True])
def test_anthropic_sees_pictures_in_the_result(client: wardian.Client, fails: bool) -> None:
    code = {**CODE, "code": f"{DRAW}\n1 / 0"} if fails else CODE

    def model(seen: Seen) -> Answer:
        last = seen.body["messages"][-1]["content"]
        if isinstance(last, str):
            call = {"type": "tool_use", "id": "t1", "name": "run_code", "input": code}
            return anthropic_answer([call])
        # An error may have text only.
        assert last[0]["is_error"] == fails and isinstance(last[0]["content"], str) == fails
        if not fails:
            text, image = last[0]["content"]
            assert text["type"] == "text" and image["source"]["media_type"] == "image/png"
            assert is_png(image["source"]["data"])
        return anthropic_answer([{"type": "text", "text": "It is red."}])

    with (
        ScriptedServer(model) as served,
        anthropic.Anthropic(api_key="k", base_url=served.url, max_retries=0) as sdk,
    ):
        run = wardian.anthropic.run_tools(
            sdk, client, model="m", max_tokens=9, messages=[{"role": "user", "content": "Draw."}]
        )
    assert run.text == "It is red."


def test_langchain_sees_pictures(client: wardian.Client) -> None:
    (tool,) = wardian.langchain.tools(client, only="run_code")
    message = called(tool, CODE)
    text, image = message.content_blocks
    assert json.loads(text["text"])["status"] == "completed"
    assert (image["type"], image["mime_type"]) == ("image", "image/png") and is_png(image["base64"])
    (blind,) = wardian.langchain.tools(client, only="run_code", pictures=False)
    assert isinstance(called(blind, CODE).content, str)


def test_pydantic_ai_sees_pictures(client: wardian.Client) -> None:
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = [part for part in messages[-1].parts if isinstance(part, UserPromptPart)]
        if isinstance(parts[0].content, str):
            return ModelResponse(parts=[ToolCallPart("run_code", CODE)])
        images = [one for one in parts[0].content if isinstance(one, BinaryContent)]
        assert [one.media_type for one in images] == ["image/png"]
        assert images[0].data.startswith(PNG)
        return ModelResponse(parts=[TextPart("It is red.")])

    agent = Agent(FunctionModel(model), tools=wardian.pydantic_ai.tools(client, only="run_code"))
    assert asyncio.run(agent.run("Draw.")).output == "It is red."


def test_the_tools_for_the_agents_sdk(client: wardian.Client) -> None:
    agents.set_tracing_disabled(True)

    async def run(url: str) -> str:
        async with openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as sdk:
            model = agents.OpenAIResponsesModel(model="m", openai_client=sdk)
            tools = wardian.openai_agents.tools(client)
            agent = agents.Agent(name="a", model=model, tools=tools)
            ended = await agents.Runner.run(agent, "Draw.")
            return str(ended.final_output)

    with ScriptedServer(responses_model) as served:
        assert asyncio.run(run(served.url)) == "invalid_params"
