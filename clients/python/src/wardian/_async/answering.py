"""The rounds of a run whose caller answers it, and how it ends if the caller leaves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import httpx

from wardian import _calls
from wardian._async.blobs import AsyncBlobs
from wardian._async.transport import AsyncTransport
from wardian._async_io import on_the_way_out, outcomes_of, sleep
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


async def answered(
    result: RunResult,
    functions: Functions,
    send: Callable[[list[JsonObject]], Awaitable[RunResult]],
    transport: AsyncTransport,
    blobs: AsyncBlobs,
    *,
    is_program: bool,
) -> RunResult:
    """Answers the requests of a run as far as there are functions, and returns its end. `send` sends answers.

    A run that its caller leaves early is ended: nobody else knows what it waits for.
    """
    while result.session is not None and (calls := functions.calls(result.requests)) is not None:
        try:
            outcomes = outcomes_by_id(result.requests, await outcomes_of(calls))
            part = await taken(answers_of(outcomes), send)
        except BaseException:
            await _abandon(transport, result.session.id, is_program=is_program)
            raise
        result = bound(of_one_run(result, part, is_program=is_program), blobs)
    return result


async def taken(
    answers: Sequence[JsonObject], send: Callable[[list[JsonObject]], Awaitable[Answered]]
) -> Answered:
    """Sends answers of functions. An output that the server refuses is an error of its tool."""
    given = [*answers]
    broke: ConnectionFailed | None = None
    while True:
        try:
            return await send(given)
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


async def _abandon(transport: AsyncTransport, session_id: str, *, is_program: bool) -> None:
    """Ends what waits in a session, as far as that is possible in a short time."""
    with on_the_way_out(_calls.LONGEST_GOODBYE):
        for _ in range(GOODBYES):
            try:
                await transport.send(_calls.abandoning(session_id))
                return
            except SessionBusy:
                await sleep(PAUSE)
            except CallError:
                break
            except WardianError:
                # The reason for leaving is more important. The session expires.
                return
        if is_program:
            await _close(transport, session_id)


async def _close(transport: AsyncTransport, session_id: str) -> None:
    """Closes the session of a program that does not wait: it was stopped with the call that answered it."""
    try:
        await transport.send(_calls.closing(session_id))
    except WardianError:
        pass
