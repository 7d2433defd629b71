"""A tool loop for the SDK of OpenAI."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from wardian._async.client import AsyncClient
from wardian._async.tools import AsyncToolBox, refused
from wardian._loop import TooManyTurns, sendable

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.chat import (
        ChatCompletion,
        ChatCompletionMessageParam,
        ChatCompletionToolParam,
    )


@dataclass(frozen=True)
class AsyncOpenAIRun:
    """The end of a conversation with tools."""

    text: str
    """The last answer of the model."""
    messages: list[ChatCompletionMessageParam]
    """All messages, those of tools included: the beginning of the next request."""
    calls: int
    """How often tools were called."""


async def run_tools_async(
    openai: AsyncOpenAI,
    client: AsyncClient,
    *,
    messages: Iterable[ChatCompletionMessageParam],
    max_turns: int = 16,
    only: Iterable[str] | None = None,
    **options: Any,
) -> AsyncOpenAIRun:
    """Asks a model (Chat Completions) until it answers without calling a tool.

    `options`, such as `model`, go to `chat.completions.create`. `only` names the tools that the
    model has. Raises `TooManyTurns` after `max_turns` requests.
    """
    tools = AsyncToolBox(client, only)
    definitions = cast("list[ChatCompletionToolParam]", await tools.definitions("openai"))
    # The options are those of the SDK, which checks them.
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
        for call in message.tool_calls:
            calls += 1
            # Each call needs an answer, also one of a tool that this loop does not have.
            if call.type == "function":
                result = await tools.call(call.function.name, call.function.arguments)
            else:
                result = refused(call.custom.name)
            said.append({"role": "tool", "tool_call_id": call.id, "content": result.text})
    raise TooManyTurns(max_turns)
