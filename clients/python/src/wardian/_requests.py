"""Requests of cells, and the answers of functions. Does no I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from wardian import _inputs, _wire
from wardian._caller_tools import Function, Tools, caller_tools
from wardian._wire import JsonObject
from wardian.errors import WardianError
from wardian.results import CallerRequest

LONGEST_ERROR = 16_384
"""Characters of an error that the server accepts."""


class Functions:
    """The functions that answer the requests of a cell: tools by their names, and one for lines.

    `awaits` says whether what they return is awaited.
    """

    def __init__(self, tools: Tools, on_input: Function | None, *, awaits: bool) -> None:
        self._tools = caller_tools(tools, awaits=awaits)
        self._on_input = on_input

    def declared(self) -> list[JsonObject] | None:
        """What a call says of the tools. `None` without any."""
        return [tool.declared() for tool in self._tools.values()] or None

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
            return None if tool is None else partial(tool.call, request.arguments or {})
        return None if self._on_input is None else partial(self._on_input, request.prompt or "")


def answers_of(outcomes: Mapping[str, Any]) -> list[JsonObject]:
    """The answers to the requests with these ids. An exception is the answer that there is none."""
    return [_answer(request, outcome) for request, outcome in outcomes.items()]


def _answer(request: str, outcome: Any) -> JsonObject:
    if not isinstance(outcome, Exception):
        try:
            output: Any = _inputs.output(outcome)
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
