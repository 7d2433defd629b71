"""The eight tools for models: their definitions, and the answers to a model's calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from wardian import _wire
from wardian._async.client import AsyncClient
from wardian._async_io import AWAITS, outcomes_of
from wardian._caller_tools import Tools
from wardian._calls import as_unicode
from wardian._model_tools import AllowedCallers, ModelTools
from wardian._pictures import KINDS, LARGEST, LARGEST_TOGETHER, MOST, Picture, candidates, kind_of
from wardian._requests import Approve, answers_of, refuses
from wardian._wire import JsonObject
from wardian.errors import CallError, InvalidParams, WardianError
from wardian.options import ToolFormat


@dataclass(frozen=True)
class ToolAnswer:
    """The answer to a call of a model, as text for the model."""

    text: str
    is_error: bool
    pictures: list[Picture] = field(default_factory=list["Picture"])
    """The pictures among its blobs, for models with vision: at most four, 2 MiB in total."""


CODE = "run_code"
PROGRAMS = (CODE, "execute_skill")
"""The tools that run programs, which may ask for approvals."""
WITHOUT_TOOLS = ("tools", "answers", "abandon", "detach", "idempotency_key")
"""Parameters with which code cannot have the functions of the caller, or has those of the model's call."""


class AsyncToolBox:
    """The tools of a server, or only those in `only`. If `pictures` is false, answers have none.

    `functions` are tools of this program. The model calls them, or the code that it sends, or both, as
    `allowed_callers` says by their names: `{"search": ["code"]}`. Without it the model calls them.

    `approve` is that of `run_code`. Without it, no call is made that needs an approval: the model is not
    asked about what it does itself.
    """

    def __init__(
        self,
        client: AsyncClient,
        only: Iterable[str] | None = None,
        *,
        pictures: bool = True,
        functions: Tools | ModelTools = (),
        allowed_callers: AllowedCallers | None = None,
        approve: Approve | None = None,
    ) -> None:
        if not isinstance(functions, ModelTools):
            functions = ModelTools(functions, allowed_callers, awaits=AWAITS)
        self._own = functions
        self._client = client
        self._approve = approve or refuses
        self._shows_pictures = pictures
        # A `str` is one name, not a sequence of letters.
        names = (only,) if isinstance(only, str) else only
        self._only = None if names is None else frozenset(names)

    async def definitions(self, format: ToolFormat = "plain") -> list[JsonObject]:
        """The definitions in the format of a vendor."""
        tools = await self._client.tools(format)
        there = {name_of(tool) for tool in tools}
        unknown = sorted((self._only or there) - there)
        if unknown:
            raise ValueError(
                f"no tool {', '.join(unknown)} exists; the tools are {', '.join(sorted(there))}"
            )
        taken = sorted(there & self._own.names)
        if taken:
            raise ValueError(f"the server has tools that are also called {', '.join(taken)}")
        advice = self._own.advice()
        if advice and not self._has(CODE):
            raise ValueError(f"`only` lacks `{CODE}`, whose code shall call functions")
        known = [tool for tool in tools if self._has(name_of(tool))]
        if advice:
            known = [_advised(tool, advice) if name_of(tool) == CODE else tool for tool in known]
        return known + self._own.definitions(format)

    async def call(self, name: str, arguments: str | Mapping[str, Any] | None) -> ToolAnswer:
        """Answers a call. A mistake of the model also becomes an answer for it."""
        try:
            if self._own.is_direct(name):
                return await self._answer(name, _parsed(arguments))
            if name in self._own.names:
                return _error(InvalidParams(f"only the code of `{CODE}` can call `{name}`"))
            if not self._has(name):
                return refused(name)
            params = _parsed(arguments)
            tools = self._tools_for(name, params)
            approve = self._approve if name in PROGRAMS else None
            result = await self._client.call(name, params, tools=tools, approve=approve)
            if _waits_for_approval(result):
                return await self._ended(_wire.as_object(result.get("session"), "session"))
        except CallError as error:
            return _error(error)
        pictures = await self._pictures(name, params, result) if self._shows_pictures else []
        return ToolAnswer(_printed(result), result.get("status") == "failed", pictures)

    async def _ended(self, session: JsonObject) -> ToolAnswer:
        """Ends a program that waits for an approval together with something that the model has to answer:
        it would give the approval, too."""
        code = {"language": "python", "code": "", "session": session.get("id"), "abandon": True}
        await self._client.call(CODE, code)
        return _error(
            InvalidParams(
                "the program was ended without a trace: it has called a tool that needs an approval, and "
                "asked for something else at the same time. Let it ask for one after the other"
            )
        )

    def _tools_for(self, name: str, params: Mapping[str, Any]) -> Tools:
        """The functions that the code of a call can call."""
        if name != CODE or any(params.get(one) for one in WITHOUT_TOOLS):
            return ()
        reproducible: Any = params.get("reproducible")
        if isinstance(reproducible, dict) and "cache" in reproducible and reproducible["cache"]:
            return ()
        return self._own.of_code()

    async def _answer(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """What a function of the caller answers a model."""
        (outcome,) = await outcomes_of([partial(self._own.tool(name).call, {**arguments})])
        (answer,) = answers_of({name: outcome})
        if "error" in answer:
            return ToolAnswer(as_unicode(str(answer["error"])), True)
        output = answer["output"]
        return ToolAnswer(as_unicode(output if isinstance(output, str) else _printed(output)), False)

    async def _pictures(
        self, name: str, params: Mapping[str, Any], result: JsonObject
    ) -> list[Picture]:
        """The first pictures of an answer. What cannot be shown is left out: the text names it."""
        shown: list[Picture] = []
        room = LARGEST_TOGETHER
        for blob_id, path in candidates(name, params, result):
            if len(shown) == MOST:
                break
            try:
                blob = await self._client.blobs.describe(blob_id)
                if blob.kind not in KINDS or blob.size_bytes > min(room, LARGEST):
                    continue
                data = await self._client.blobs.read(blob_id)
            except WardianError:
                continue
            kind = kind_of(data)
            if kind is not None and len(data) <= room:
                room -= len(data)
                shown.append(Picture(blob_id, path, kind, data))
        return shown

    def _has(self, name: str) -> bool:
        return self._only is None or name in self._only


def _waits_for_approval(result: JsonObject) -> bool:
    requests = _wire.objects(result, "requests") if result.get("requests") else []
    return any(request.get("kind") == "approval" for request in requests)


def _advised(definition: JsonObject, advice: str) -> JsonObject:
    """The definition with more in its description."""
    function = definition.get("function")
    if isinstance(function, dict):
        return {**definition, "function": _advised(cast(JsonObject, function), advice)}
    return {**definition, "description": _wire.text(definition, "description") + advice}


def refused(name: str) -> ToolAnswer:
    """The answer to a call of a tool that the model does not have."""
    return _error(InvalidParams(f"unknown tool `{name}`"))


def _error(error: CallError) -> ToolAnswer:
    message: JsonObject = {"error": {"kind": error.kind, "message": error.message}}
    return ToolAnswer(_printed(message), True)


def name_of(definition: JsonObject) -> str:
    """The name in a definition of any format."""
    function = definition.get("function")
    return _wire.text(function if isinstance(function, dict) else definition, "name")


def _parsed(arguments: object) -> Mapping[str, Any]:
    try:
        found = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError) as fault:
        raise InvalidParams(f"the arguments are not JSON: {fault}") from fault
    if found is None:
        return {}
    if isinstance(found, Mapping):
        return cast("Mapping[str, Any]", found)
    raise InvalidParams("the arguments are not a JSON object")


def _printed(answer: Any) -> str:
    """The text of an answer. It may quote a model, whose text may not be valid Unicode."""
    return as_unicode(json.dumps(answer, ensure_ascii=False))
