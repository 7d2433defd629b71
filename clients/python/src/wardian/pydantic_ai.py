"""The eight tools for Pydantic AI: `pip install 'wardian[pydantic-ai]'`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from pydantic_ai import BinaryContent, Tool, ToolReturn

from wardian import _wire
from wardian._calls import as_unicode
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
) -> list[Tool[Any]]:
    """The tools of a server, or only those in `only`. Errors become answers for the model. It
    sees the pictures that runs keep, unless `pictures` is false. `approve` is that of `run_code`; without
    it, no call is made that needs an approval."""
    box = ToolBox(client, only, pictures=pictures, approve=approve)
    return [_tool(box, definition) for definition in box.definitions()]


def _tool(box: ToolBox, definition: JsonObject) -> Tool[Any]:
    name = _wire.text(definition, "name")

    def call(**arguments: Any) -> str | ToolReturn[Any]:
        answer = box.call(name, arguments)
        if not answer.pictures:
            return answer.text
        names = as_unicode(", ".join(picture.name for picture in answer.pictures))
        images = [BinaryContent(picture.data, media_type=picture.kind) for picture in answer.pictures]
        return ToolReturn(answer.text, content=[f"Pictures of the answer: {names}", *images])

    return Tool[Any].from_schema(
        call,
        name=name,
        description=_wire.text(definition, "description"),
        json_schema=cast("dict[str, Any]", definition["parameters"]),
    )
