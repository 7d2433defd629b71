"""Requests of cells, and the answers of functions. Does no I/O."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from wardian import _inputs, _signatures, _wire
from wardian._wire import JsonObject
from wardian.errors import WardianError
from wardian.results import CallerRequest

Function: TypeAlias = Callable[..., Any]
"""A function that answers requests, or for an `AsyncSession` also a coroutine function."""

Tools: TypeAlias = Sequence[Function] | Mapping[str, Function]
"""Tools, with the names of the functions or with others: `{"crm.search": search}`."""

LONGEST_ERROR = 16_384
"""Characters of an error that the server accepts."""

LONGEST_DESCRIPTION = 4_096
"""Characters of a description that it accepts."""


class Functions:
    """The functions that answer the requests of a cell: tools by their names, and one for lines."""

    def __init__(self, tools: Tools, on_input: Function | None) -> None:
        if isinstance(tools, Mapping):
            named = list(tools.items())
        else:
            named = [(_name_of(tool), tool) for tool in tools]
        self._tools = dict(named)
        if len(self._tools) < len(named):
            raise ValueError("two tools have the same name")
        self._on_input = on_input

    def declared(self) -> list[JsonObject] | None:
        """What a call says of the tools. `None` without any."""
        declared: list[JsonObject] = []
        for name, tool in self._tools.items():
            note = inspect.getdoc(tool)
            one: JsonObject = {"name": name}
            if note:
                one["description"] = note[:LONGEST_DESCRIPTION]
            declared.append({**one, **_signatures.schemas_of(tool)})
        return declared or None

    def knows(self, request: CallerRequest) -> bool:
        """True if there is a function for this request."""
        return self._call(request) is not None

    def calls(self, requests: Sequence[CallerRequest]) -> list[Callable[[], Any]] | None:
        """The calls that answer these requests. `None` if there is no function for one of them: a
        cell goes on with all of its answers."""
        calls = [self._call(request) for request in requests]
        known = [call for call in calls if call is not None]
        return known if known and len(known) == len(calls) else None

    def _call(self, request: CallerRequest) -> Callable[[], Any] | None:
        if request.kind == "tool":
            tool = self._tools.get(request.name or "")
            return None if tool is None else partial(_called, tool, request.arguments or {})
        return None if self._on_input is None else partial(self._on_input, request.prompt or "")


def _called(tool: Function, arguments: JsonObject) -> Any:
    return tool(**_signatures.filled(tool, arguments))


def _name_of(tool: Function) -> str:
    name = getattr(tool, "__name__", None)
    if isinstance(name, str):
        return name
    raise TypeError(f"a tool is a function with a name, not {tool!r}")


def answers_of(outcomes: Mapping[str, Any]) -> list[JsonObject]:
    """The answers to the requests with these ids. An exception is the answer that there is none."""
    return [_answer(request, outcome) for request, outcome in outcomes.items()]


def _answer(request: str, outcome: Any) -> JsonObject:
    if not isinstance(outcome, Exception):
        try:
            output: Any = _inputs.plain(outcome)
            _wire.print_json(output)
            return {"id": request, "output": output}
        except (WardianError, TypeError, ValueError, RecursionError) as fault:
            # The program shall hear of it, too: it has called the tool.
            outcome = fault
    said = str(outcome)
    kind = type(outcome).__name__
    if isinstance(outcome, EOFError):
        # The end of the lines, which is an `EOFError` in the program, too.
        return {"id": request, "error": (said or "EOF when reading a line")[:LONGEST_ERROR]}
    return {"id": request, "error": (f"{kind}: {said}" if said else kind)[:LONGEST_ERROR]}
