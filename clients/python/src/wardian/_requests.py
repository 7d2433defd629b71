"""Requests of cells, and the answers of functions. Does no I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, TypeAlias, cast

from wardian import _inputs, _wire
from wardian._caller_tools import Function, Tools, caller_tools
from wardian._wire import JsonObject
from wardian.errors import WardianError
from wardian.results import CallerRequest

LONGEST_ERROR = 16_384
"""Characters of an error that the server accepts."""

Approve: TypeAlias = Callable[[str, dict[str, Any]], Any]
"""Decides about the call of a tool of the operator's servers, by its name and its arguments: `True`, `False`,
a dict of other arguments with which it is made, or a text, the reason why it is not. For an `AsyncClient`
also a coroutine function."""

NO_APPROVE = "the caller of the program gave no `approve`"
"""Why a call is not approved that nobody was asked about."""


class Refusal(Exception):
    """Raised instead of giving an output. Its message is the error that the program gets."""


def refuses(name: str, arguments: dict[str, Any]) -> str:
    """The decision of a caller that cannot be asked."""
    return NO_APPROVE


class Functions:
    """The functions that answer the requests of a cell: tools by their names, one for lines, and one for
    approvals.

    `awaits` says whether what they return is awaited.
    """

    def __init__(
        self,
        tools: Tools,
        on_input: Function | None,
        approve: Approve | None = None,
        *,
        awaits: bool,
    ) -> None:
        if iscoroutinefunction(approve) and not awaits:
            raise TypeError("`approve` is a coroutine: use an `AsyncClient`")
        self._tools = caller_tools(tools, awaits=awaits)
        self._on_input = on_input
        self._approve = approve

    def declared(self) -> list[JsonObject] | None:
        """What a call says of the tools. `None` without any."""
        return [tool.declared() for tool in self._tools.values()] or None

    def knows(self, request: CallerRequest) -> bool:
        """True if there is a function for this request."""
        return self._call(request, self._approve) is not None

    def calls(self, requests: Sequence[CallerRequest]) -> list[Callable[[], Any]] | None:
        """The calls that answer these requests. `None` if there is no function for one of them: a
        cell goes on with all of its answers.

        A program that has tools goes on without an approval: it is refused if there is no function."""
        approve = self._approve or (refuses if self._tools else None)
        calls = [self._call(request, approve) for request in requests]
        known = [call for call in calls if call is not None]
        return known if known and len(known) == len(calls) else None

    def _call(self, request: CallerRequest, approve: Approve | None) -> Callable[[], Any] | None:
        name, arguments = request.name or "", request.arguments or {}
        if request.kind == "approval":
            return None if approve is None else partial(approve, name, arguments)
        if request.kind == "tool":
            tool = self._tools.get(name)
            return None if tool is None else partial(tool.call, arguments)
        return None if self._on_input is None else partial(self._on_input, request.prompt or "")


def outcomes_by_id(requests: Sequence[CallerRequest], outcomes: Sequence[Any]) -> dict[str, Any]:
    """What functions have returned or raised, by the requests that they answer."""
    return {
        request.id: _decision(outcome) if request.kind == "approval" else outcome
        for request, outcome in zip(requests, outcomes, strict=True)
    }


def _decision(outcome: Any) -> Any:
    """What `approve` has returned or raised, as an outcome. Nothing but a clear yes is one."""
    if isinstance(outcome, (bool, Exception)):
        return outcome
    if isinstance(outcome, Mapping):
        return {"arguments": {**cast("Mapping[str, Any]", outcome)}}
    if isinstance(outcome, str):
        return Refusal(outcome)
    kind = type(outcome).__name__
    return TypeError(f"`approve` returns True, False, a dict of arguments or a text, not {kind}")


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
    if isinstance(outcome, Refusal):
        return {"id": request, "error": said[:LONGEST_ERROR]}
    kind = type(outcome).__name__
    if isinstance(outcome, EOFError):
        # The end of the lines, which is an `EOFError` in the program, too.
        return {"id": request, "error": (said or "EOF when reading a line")[:LONGEST_ERROR]}
    return {"id": request, "error": (f"{kind}: {said}" if said else kind)[:LONGEST_ERROR]}
