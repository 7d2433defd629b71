"""The eight tools for models: their definitions, and the answers to a model's calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from wardian import _wire
from wardian._async.client import AsyncClient
from wardian._wire import JsonObject
from wardian.errors import CallError, InvalidParams
from wardian.options import ToolFormat


@dataclass(frozen=True)
class ToolAnswer:
    """The answer to a model's call, as a text for the model."""

    text: str
    is_error: bool


class AsyncToolBox:
    """The tools of a server, or those of them in `only`."""

    def __init__(self, client: AsyncClient, only: Iterable[str] | None = None) -> None:
        self._client = client
        self._only = None if only is None else frozenset(only)

    async def definitions(self, format: ToolFormat = "plain") -> list[JsonObject]:
        """The definitions in the form of a vendor."""
        tools = await self._client.tools(format)
        return [tool for tool in tools if self._has(name_of(tool))]

    async def call(self, name: str, arguments: str | Mapping[str, Any] | None) -> ToolAnswer:
        """Answers a call. What the model got wrong is an answer for it, too."""
        try:
            if not self._has(name):
                raise InvalidParams(f"there is no tool `{name}` here")
            params = arguments
            if isinstance(params, str):
                params = _parsed(params)
            result = await self._client.call(name, params)
        except CallError as error:
            message = {"error": {"kind": error.kind, "message": error.message}}
            return ToolAnswer(json.dumps(message, ensure_ascii=False), True)
        return ToolAnswer(json.dumps(result, ensure_ascii=False), result.get("status") == "failed")

    def _has(self, name: str) -> bool:
        return self._only is None or name in self._only


def name_of(definition: JsonObject) -> str:
    """The name in a definition of any form."""
    function = definition.get("function")
    return _wire.text(function if isinstance(function, dict) else definition, "name")


def _parsed(arguments: str) -> JsonObject:
    try:
        return _wire.as_object(json.loads(arguments or "{}"), "arguments")
    except (ValueError, _wire.BadAnswer) as fault:
        raise InvalidParams(f"the arguments are no JSON object: {fault}") from fault
