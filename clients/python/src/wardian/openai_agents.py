"""The eight tools for the OpenAI Agents SDK: `pip install 'wardian[openai-agents]'`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, cast

from agents import FunctionTool, Tool, ToolOutputImage, ToolOutputText
from anyio import to_thread

from wardian import _wire
from wardian._requests import Approve
from wardian._sync.client import Client
from wardian._sync.tools import ToolBox
from wardian._wire import JsonObject


def tools(
    client: Client,
    only: Iterable[str] | None = None,
    *,
    pictures: bool = True,
    approve: Approve | None = None,
) -> list[Tool]:
    """The tools of a server, or only those in `only`. Errors become answers for the model. It
    sees the pictures that runs keep, unless `pictures` is false. `approve` is that of `run_code`; without
    it, no call is made that needs an approval."""
    box = ToolBox(client, only, pictures=pictures, approve=approve)
    return [_tool(box, definition) for definition in box.definitions()]


def _tool(box: ToolBox, definition: JsonObject) -> FunctionTool:
    name = _wire.text(definition, "name")

    async def call(_context: object, arguments: str) -> str | list[Any]:
        # The other calls of the turn continue meanwhile.
        answer = await to_thread.run_sync(partial(box.call, name, arguments))
        if not answer.pictures:
            return answer.text
        images = [ToolOutputImage(image_url=picture.data_url) for picture in answer.pictures]
        return [ToolOutputText(text=answer.text), *images]

    return FunctionTool(
        name=name,
        description=_wire.text(definition, "description"),
        params_json_schema=cast("dict[str, Any]", definition["parameters"]),
        on_invoke_tool=call,
        # It would require schemas without optional members.
        strict_json_schema=False,
    )
