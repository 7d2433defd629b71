"""The eight tools for Pydantic AI: `pip install 'wardian[pydantic-ai]'`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from pydantic_ai import Tool

from wardian import _wire
from wardian._sync.client import Client
from wardian._sync.tools import ToolBox
from wardian._wire import JsonObject


def tools(client: Client, only: Iterable[str] | None = None) -> list[Tool[Any]]:
    """The tools of a server, or those of them in `only`. Errors are answers for the model."""
    box = ToolBox(client, only)
    return [_tool(box, definition) for definition in box.definitions()]


def _tool(box: ToolBox, definition: JsonObject) -> Tool[Any]:
    name = _wire.text(definition, "name")

    def call(**arguments: Any) -> str:
        return box.call(name, arguments).text

    return Tool[Any].from_schema(
        call,
        name=name,
        description=_wire.text(definition, "description"),
        json_schema=cast("dict[str, Any]", definition["parameters"]),
    )
