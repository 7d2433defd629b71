"""Tool loops for the OpenAI SDK."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from wardian._async.client import AsyncClient
from wardian._async.tools import AsyncToolBox, ToolAnswer, refused
from wardian._async_io import AWAITS
from wardian._caller_tools import Tools
from wardian._calls import as_unicode
from wardian._loop import TooManyTurns, sendable
from wardian._model_tools import AllowedCallers, ModelTools
from wardian._pictures import Picture
from wardian._requests import Approve
from wardian._wire import JsonObject

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.chat import (
        ChatCompletion,
        ChatCompletionMessageParam,
        ChatCompletionToolParam,
    )
    from openai.types.responses import Response, ResponseInputItemParam


@dataclass(frozen=True)
class AsyncOpenAIRun:
    """The end of a conversation with tools."""

    text: str
    """The last answer of the model."""
    messages: list[ChatCompletionMessageParam]
    """All messages, including those of tools: the start of the next request."""
    calls: int
    """The number of tool calls."""


async def run_tools_async(
    openai: AsyncOpenAI,
    client: AsyncClient,
    *,
    messages: Iterable[ChatCompletionMessageParam],
    max_turns: int = 16,
    only: Iterable[str] | None = None,
    pictures: bool = True,
    tools: Iterable[Any] = (),
    functions: Tools = (),
    allowed_callers: AllowedCallers | None = None,
    approve: Approve | None = None,
    **options: Any,
) -> AsyncOpenAIRun:
    """Asks a model (Chat Completions) until it answers without calling a tool.

    `options`, such as `model`, are passed to `chat.completions.create`. `only` names the tools that
    the model gets. Tool answers contain only text, so the model sees the pictures that runs keep in
    an additional message after them, unless `pictures` is false. Raises `TooManyTurns` after
    `max_turns` requests.

    `functions` are further tools, which are executed here: those that `run_code` takes, with the
    definitions of their names in `tools` or with their own. The model calls them, or the code of
    `run_code`, or both, as `allowed_callers` says by their names: `{"search": ["code"]}`. `approve` is that
    of `run_code`; without it, no call is made that needs an approval.
    """
    own = ModelTools(functions, allowed_callers, tools, awaits=AWAITS)
    box = AsyncToolBox(client, only, pictures=pictures, functions=own, approve=approve)
    listed = [*await box.definitions("openai"), *own.others]
    definitions = cast("list[ChatCompletionToolParam]", listed)
    # The SDK checks the options.
    create: Any = openai.chat.completions.create
    said = list(messages)
    calls = 0
    for _ in range(max_turns):
        sent = await create(messages=said, tools=definitions, **options)
        message = cast("ChatCompletion", sent).choices[0].message
        kept = message.model_dump(exclude_none=True, exclude={"annotations", "refusal"})
        said.append(cast("ChatCompletionMessageParam", sendable(kept)))
        if not message.tool_calls:
            return AsyncOpenAIRun(message.content or "", said, calls)
        shown: list[Picture] = []
        for call in message.tool_calls:
            calls += 1
            # Each call needs an answer, even a call of a tool that this loop does not have.
            if call.type == "function":
                result = await box.call(call.function.name, call.function.arguments)
            else:
                result = refused(call.custom.name)
            said.append({"role": "tool", "tool_call_id": call.id, "content": result.text})
            shown += result.pictures
        if shown:
            said.append(_message_of(shown))
    raise TooManyTurns(max_turns)


def _message_of(shown: list[Picture]) -> ChatCompletionMessageParam:
    names = as_unicode(", ".join(picture.name for picture in shown))
    text = {"type": "text", "text": f"Pictures of the answers above: {names}"}
    images = [
        {"type": "image_url", "image_url": {"url": picture.data_url}} for picture in shown
    ]
    return cast("ChatCompletionMessageParam", {"role": "user", "content": [text, *images]})


@dataclass(frozen=True)
class AsyncResponsesRun:
    """The end of a conversation with tools over the Responses API."""

    text: str
    """The last answer of the model."""
    input: list[ResponseInputItemParam]
    """All items, including those of tools: the start of the next request."""
    calls: int
    """The number of tool calls."""


async def run_responses_async(
    openai: AsyncOpenAI,
    client: AsyncClient,
    *,
    input: str | Iterable[ResponseInputItemParam],
    max_turns: int = 16,
    only: Iterable[str] | None = None,
    pictures: bool = True,
    tools: Iterable[Any] = (),
    functions: Tools = (),
    allowed_callers: AllowedCallers | None = None,
    approve: Approve | None = None,
    **options: Any,
) -> AsyncResponsesRun:
    """Asks a model (Responses) until it answers without calling a tool.

    `options`, such as `model` and `instructions`, are passed to `responses.create`. `tools` are added
    to those of the server, and the vendor executes them, except for those with a function. `only`
    names the server's tools that the model gets. The model sees the pictures that runs keep, unless
    `pictures` is false. Raises `TooManyTurns` after `max_turns` requests.

    `functions`, `allowed_callers` and `approve` are those of `run_tools`.
    """
    own = ModelTools(functions, allowed_callers, tools, awaits=AWAITS)
    box = AsyncToolBox(client, only, pictures=pictures, functions=own, approve=approve)
    definitions = [responses_tool(one) for one in await box.definitions()]
    definitions += own.others
    # The SDK checks the options.
    create: Any = openai.responses.create
    first: Any = [{"role": "user", "content": input}] if isinstance(input, str) else input
    said: list[Any] = list(first)
    calls = 0
    for _ in range(max_turns):
        sent = cast("Response", await create(input=said, tools=definitions, **options))
        said += [sendable(item.model_dump(exclude_none=True)) for item in sent.output]
        is_answer = True
        for item in sent.output:
            if item.type == "function_call":
                result = await box.call(item.name, item.arguments)
                kind = "function_call_output"
            elif item.type == "custom_tool_call":
                result = refused(item.name)
                kind = "custom_tool_call_output"
            else:
                continue
            is_answer = False
            calls += 1
            output = responses_output(result)
            said.append({"type": kind, "call_id": item.call_id, "output": output})
        if is_answer:
            return AsyncResponsesRun(sent.output_text, said, calls)
    raise TooManyTurns(max_turns)


def responses_tool(definition: JsonObject) -> dict[str, Any]:
    """The definition of a tool in the format of the Responses API."""
    if "type" in definition:
        # It comes from the caller as it is.
        return definition
    # `strict` would require schemas without optional members.
    return {
        "type": "function",
        "name": definition["name"],
        "description": definition["description"],
        "parameters": definition["parameters"],
        "strict": False,
    }


def responses_output(result: ToolAnswer) -> str | list[dict[str, Any]]:
    """The output of a call in the format of the Responses API."""
    if not result.pictures:
        return result.text
    images = [
        {"type": "input_image", "image_url": picture.data_url, "detail": "auto"}
        for picture in result.pictures
    ]
    return [{"type": "input_text", "text": result.text}, *images]
