"""Requests of cells, and the answers of functions. Does no I/O."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, TypeAlias, cast

from wardian import _inputs, _wire
from wardian._caller_tools import Function, Tools, caller_tools
from wardian._calls import as_unicode
from wardian._wire import JsonObject
from wardian.errors import CallError, ConnectionFailed, NotJson, TooLarge
from wardian.results import CallerRequest

LONGEST_ERROR = 16_384
"""Characters of an error that the server accepts."""

LARGEST_BODY = 32 << 20
"""Bytes of a request that no server accepts more of. Most accept half of it."""

LARGE = 1 << 20
"""Bytes of an answer for which a server may refuse a body before it has read it, and close the connection."""

OF_OUTPUTS = ("invalid_params", "invalid_request", "parse_error", "too_large")
"""The kinds of refusals for which an output can be the reason."""
IN_ANSWERS = re.compile(r"\banswers\[(\d+)\]")
"""How a refusal names one of the answers."""
DEEP = "nested more than"
"""What it says of a value that is nested too deeply."""
PLACE = re.compile(r"\b(params\.)?answers\[\d+\]\.|^byte \d+: ")
"""What a program does not know of a request."""

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


def without_refused(
    answers: Sequence[JsonObject], error: CallError | ConnectionFailed
) -> list[JsonObject] | None:
    """The answers to send instead of those that a server has refused: the program hears of the refusal, too.

    `None` if none of their outputs can be the reason.
    """
    outputs = [at for at, answer in enumerate(answers) if "output" in answer]
    if isinstance(error, ConnectionFailed):
        error = TooLarge("the connection broke while it was sent, so it may be too large")
        outputs = [at for at in outputs if _size(answers[at]) >= LARGE]
    if error.kind not in OF_OUTPUTS or not outputs:
        return None
    named = IN_ANSWERS.search(error.message)
    if named is not None:
        refused = [at for at in outputs if at == int(named[1])] or outputs
    elif error.kind == "too_large":
        refused = [max(outputs, key=lambda at: _size(answers[at]))]
    elif DEEP in error.message:
        refused = [max(outputs, key=lambda at: _depth(answers[at]))]
    else:
        refused = outputs
    said = PLACE.sub("", error.message)
    reason = f"the answer was refused: {said}"[:LONGEST_ERROR]
    return [
        {"id": answer["id"], "error": reason} if at in refused else answer
        for at, answer in enumerate(answers)
    ]


def _size(answer: JsonObject) -> int:
    return len(_wire.print_json(answer))


def _depth(value: Any) -> int:
    """The levels of arrays and objects."""
    levels, within = 0, [value]
    while within:
        levels += 1
        inner: list[Any] = []
        for one in within:
            if isinstance(one, dict):
                inner += cast("dict[str, Any]", one).values()
            elif isinstance(one, list):
                inner += cast("list[Any]", one)
        within = inner
    return levels


def _answer(request: str, outcome: Any) -> JsonObject:
    if not isinstance(outcome, Exception):
        try:
            output: Any = _inputs.output(outcome)
            size = len(_wire.print_json(output))
            if size > LARGEST_BODY:
                raise NotJson(f"the output has {size >> 20} MiB: return a blob from `client.blobs.upload`")
            return {"id": request, "output": output}
        except Exception as fault:
            # The program shall hear of it, too: it has called the tool.
            outcome = fault
    said = _text_of(outcome)
    if isinstance(outcome, Refusal):
        return {"id": request, "error": said[:LONGEST_ERROR]}
    kind = type(outcome).__name__
    if isinstance(outcome, EOFError):
        # The end of the lines, which is an `EOFError` in the program, too.
        return {"id": request, "error": (said or "EOF when reading a line")[:LONGEST_ERROR]}
    return {"id": request, "error": (f"{kind}: {said}" if said else kind)[:LONGEST_ERROR]}


def _text_of(error: Exception) -> str:
    """The message of an error. It comes from anywhere, so it may have none, or one that cannot be sent."""
    try:
        return as_unicode(str(error))
    except Exception:
        return ""
