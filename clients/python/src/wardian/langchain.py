"""The eight tools for LangChain: `pip install 'wardian[langchain]'`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from langchain_core.tools import BaseTool, StructuredTool, ToolException

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
) -> list[BaseTool]:
    """The tools of a server, or only those in `only`. Errors become answers for the model. It
    sees the pictures that runs keep, unless `pictures` is false. `approve` is that of `run_code`; without
    it, no call is made that needs an approval."""
    box = ToolBox(client, only, pictures=pictures, approve=approve)
    return [_tool(box, definition) for definition in box.definitions()]


def _tool(box: ToolBox, definition: JsonObject) -> BaseTool:
    name = _wire.text(definition, "name")

    def call(**arguments: Any) -> str | list[dict[str, Any]]:
        answer = box.call(name, arguments)
        if answer.is_error:
            raise ToolException(answer.text)
        if not answer.pictures:
            return answer.text
        images = [
            {"type": "image", "base64": picture.base64, "mime_type": picture.kind}
            for picture in answer.pictures
        ]
        return [{"type": "text", "text": answer.text}, *images]

    return StructuredTool.from_function(
        func=call,
        name=name,
        description=_wire.text(definition, "description"),
        args_schema=cast("dict[str, Any]", definition["parameters"]),
        infer_schema=False,
        handle_tool_error=True,
    )
