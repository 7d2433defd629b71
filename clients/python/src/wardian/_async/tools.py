"""The eight tools for models: their definitions, and the answers to a model's calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from wardian import _wire
from wardian._async.client import AsyncClient
from wardian._calls import as_unicode
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
        # One name is not the letters of it.
        names = (only,) if isinstance(only, str) else only
        self._only = None if names is None else frozenset(names)

    async def definitions(self, format: ToolFormat = "plain") -> list[JsonObject]:
        """The definitions in the form of a vendor."""
        tools = await self._client.tools(format)
        there = {name_of(tool) for tool in tools}
        unknown = sorted((self._only or there) - there)
        if unknown:
            raise ValueError(
                f"there is no tool {', '.join(unknown)}, but {', '.join(sorted(there))}"
            )
        return [tool for tool in tools if self._has(name_of(tool))]

    async def call(self, name: str, arguments: str | Mapping[str, Any] | None) -> ToolAnswer:
        """Answers a call. What the model got wrong is an answer for it, too."""
        try:
            if not self._has(name):
                return refused(name)
            result = await self._client.call(name, _parsed(arguments))
        except CallError as error:
            return _error(error)
        return ToolAnswer(_printed(result), result.get("status") == "failed")

    def _has(self, name: str) -> bool:
        return self._only is None or name in self._only


def refused(name: str) -> ToolAnswer:
    """The answer to a call of a tool that the model does not have."""
    return _error(InvalidParams(f"there is no tool `{name}` here"))


def _error(error: CallError) -> ToolAnswer:
    message: JsonObject = {"error": {"kind": error.kind, "message": error.message}}
    return ToolAnswer(_printed(message), True)


def name_of(definition: JsonObject) -> str:
    """The name in a definition of any form."""
    function = definition.get("function")
    return _wire.text(function if isinstance(function, dict) else definition, "name")


def _parsed(arguments: object) -> Mapping[str, Any]:
    try:
        found = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError) as fault:
        raise InvalidParams(f"the arguments are no JSON: {fault}") from fault
    if found is None:
        return {}
    if isinstance(found, Mapping):
        return cast("Mapping[str, Any]", found)
    raise InvalidParams("the arguments are no JSON object")


def _printed(answer: JsonObject) -> str:
    """The text of an answer. It may quote a model, whose text need not be Unicode."""
    return as_unicode(json.dumps(answer, ensure_ascii=False))
