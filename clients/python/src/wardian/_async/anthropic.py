"""A tool loop for the Anthropic SDK."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from wardian._async.client import AsyncClient
from wardian._async.tools import AsyncToolBox, ToolAnswer
from wardian._async_io import AWAITS
from wardian._caller_tools import Tools
from wardian._loop import TooManyTurns, sendable
from wardian._model_tools import AllowedCallers, ModelTools
from wardian._requests import Approve

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import (
        ContentBlock,
        Message,
        MessageParam,
        ToolResultBlockParam,
        ToolUnionParam,
    )


@dataclass(frozen=True)
class AsyncAnthropicRun:
    """The end of a conversation with tools."""

    text: str
    """The last answer of the model."""
    messages: list[MessageParam]
    """All messages, including those of tools: the start of the next request."""
    calls: int
    """The number of tool calls."""


async def run_tools_async(
    anthropic: AsyncAnthropic,
    client: AsyncClient,
    *,
    messages: Iterable[MessageParam],
    max_turns: int = 16,
    only: Iterable[str] | None = None,
    pictures: bool = True,
    tools: Iterable[Any] = (),
    functions: Tools = (),
    allowed_callers: AllowedCallers | None = None,
    approve: Approve | None = None,
    **options: Any,
) -> AsyncAnthropicRun:
    """Asks a model (Messages) until it answers without calling a tool.

    `options`, such as `model` and `max_tokens`, are passed to `messages.create`. `only` names the
    server's tools that the model gets. The model sees the pictures that runs keep, unless `pictures`
    is false. Raises `TooManyTurns` after `max_turns` requests.

    `tools` are further tools: definitions, or those of `@beta_tool`. `functions` execute the
    definitions of their names, or are tools by themselves, and so are those of other packages that
    `run_code` takes. The code of `run_code` can call those whose `allowed_callers`, in the definition
    or here, has another word than `direct`. With other words only, the model cannot call them itself.
    `approve` is that of `run_code`; without it, no call is made that needs an approval.
    """
    own = ModelTools(functions, allowed_callers, tools, awaits=AWAITS)
    box = AsyncToolBox(client, only, pictures=pictures, functions=own, approve=approve)
    listed = [*await box.definitions("anthropic"), *own.others]
    definitions = cast("list[ToolUnionParam]", listed)
    # The SDK checks the options.
    create: Any = anthropic.messages.create
    said = list(messages)
    calls = 0
    for _ in range(max_turns):
        sent = await create(messages=said, tools=definitions, **options)
        answer = cast("Message", sent)
        content = [_kept(block) for block in answer.content]
        said.append(cast("MessageParam", {"role": "assistant", "content": content}))
        used = [block for block in answer.content if block.type == "tool_use"]
        if not used:
            text = "".join(block.text for block in answer.content if block.type == "text")
            return AsyncAnthropicRun(text, said, calls)
        results: list[ToolResultBlockParam] = []
        for block in used:
            calls += 1
            result = await box.call(block.name, cast("dict[str, Any]", block.input))
            results.append(
                {
                    "type": "tool_result",
                    "tool_use_id": block.id,
                    "content": _content(result),
                    "is_error": result.is_error,
                }
            )
        said.append({"role": "user", "content": results})
    raise TooManyTurns(max_turns)


def _content(result: ToolAnswer) -> Any:
    """The content of a result. An error may contain only text."""
    if result.is_error or not result.pictures:
        return result.text
    images = [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": picture.kind, "data": picture.base64},
        }
        for picture in result.pictures
    ]
    return [{"type": "text", "text": result.text}, *images]


def _kept(block: ContentBlock) -> dict[str, Any]:
    """A block of an answer, as a part of the next request."""
    if block.type != "tool_use":
        return sendable(block.model_dump(exclude_none=True))
    # The model wrote the input, which may be nested too deeply for the SDK.
    kept = sendable(block.model_dump(exclude_none=True, exclude={"input"}))
    return {**kept, "input": sendable(block.input)}
