# Made from `_async/answering.py` by `generate.py`: change that file, not this one.
"""The rounds of a run whose caller answers it, and how it ends if the caller leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import httpx

from wardian import _calls
from wardian._sync.blobs import Blobs
from wardian._sync.transport import Transport
from wardian._sync_io import on_the_way_out, outcomes_of, sleep
from wardian._parts import of_one_run
from wardian._requests import Functions, answers_of, outcomes_by_id, without_refused
from wardian._wire import JsonObject
from wardian.errors import CallError, ConnectionFailed, SessionBusy, WardianError
from wardian.results import RunResult, bound

Answered = TypeVar("Answered")

GOODBYES = 5
"""How often the client tells a run to end: the server refuses that while answers are being processed."""
PAUSE = 0.2
"""Seconds between them."""


def answered(
    result: RunResult,
    functions: Functions,
    send: Callable[[list[JsonObject]], RunResult],
    transport: Transport,
    blobs: Blobs,
    *,
    is_program: bool,
) -> RunResult:
    """Answers the requests of a run as far as there are functions, and returns its end. `send` sends answers.

    A run that its caller leaves early is ended: nobody else knows what it waits for.
    """
    while result.session is not None and (calls := functions.calls(result.requests)) is not None:
        try:
            outcomes = outcomes_by_id(result.requests, outcomes_of(calls))
            part = taken(answers_of(outcomes), send)
        except BaseException:
            _abandon(transport, result.session.id, is_program=is_program)
            raise
        result = bound(of_one_run(result, part, is_program=is_program), blobs)
    return result


def taken(
    answers: Sequence[JsonObject], send: Callable[[list[JsonObject]], Answered]
) -> Answered:
    """Sends answers of functions. An output that the server refuses is an error of its tool."""
    given = [*answers]
    broke: ConnectionFailed | None = None
    while True:
        try:
            return send(given)
        except (CallError, ConnectionFailed) as error:
            is_late = isinstance(error.__cause__, httpx.TimeoutException)
            rest = None if is_late else without_refused(given, error)
            if rest is None:
                if broke is None:
                    raise
                # The server took the answers before the connection broke, or it is gone.
                raise broke from broke.__cause__
            if isinstance(error, ConnectionFailed):
                broke = error
            given = rest


def _abandon(transport: Transport, session_id: str, *, is_program: bool) -> None:
    """Ends what waits in a session, as far as that is possible in a short time."""
    with on_the_way_out(_calls.LONGEST_GOODBYE):
        for _ in range(GOODBYES):
            try:
                transport.send(_calls.abandoning(session_id))
                return
            except SessionBusy:
                sleep(PAUSE)
            except CallError:
                break
            except WardianError:
                # The reason for leaving is more important. The session expires.
                return
        if is_program:
            _close(transport, session_id)


def _close(transport: Transport, session_id: str) -> None:
    """Closes the session of a program that does not wait: it was stopped with the call that answered it."""
    try:
        transport.send(_calls.closing(session_id))
    except WardianError:
        pass
