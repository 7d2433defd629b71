"""Runs: streamed ones, those in the background, and the records of all runs."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeAlias

import httpx

from wardian import _calls, _wire
from wardian._async.answering import taken
from wardian._async.blobs import AsyncBlobs
from wardian._async.inputs import AsyncOrder
from wardian._async.transport import AsyncTransport
from wardian._async_io import AWAITS, outcomes_of, sleep
from wardian._calls import Request
from wardian._events import Event, EventReader
from wardian._requests import NO_APPROVE, Functions, Refusal, answers_of, outcomes_by_id
from wardian._wire import JsonObject
from wardian.errors import BadAnswer, RunNotEnded, RunNotFound, RunWithoutResult
from wardian.results import (
    CallerRequest,
    DetachedRun,
    LeftOut,
    Output,
    Page,
    Progress,
    RunRecord,
    RunResult,
    bound,
)

LONGEST_WAIT = 20.0
"""Seconds that one request waits for the end of a run."""

PAUSE = 1.0
"""Seconds before the next request if a busy server answers without waiting."""

RunEvent: TypeAlias = Output | Progress | CallerRequest | LeftOut
"""An event of a run that goes on."""


class AsyncRunStream:
    """A run that streams its output: a context manager and an iterator.

    Leaving the context before the end stops the run. Functions answer what the program asks while the
    events are read; a request without a function is an event, and `answer` answers it.
    """

    def __init__(
        self,
        transport: AsyncTransport,
        blobs: AsyncBlobs,
        order: AsyncOrder,
        *,
        waits: float = 0.0,
        on_result: Callable[[RunResult], object] | None = None,
        functions: Functions | None = None,
    ) -> None:
        self._transport = transport
        self._blobs = blobs
        self._order = order
        self._waits = waits
        self._on_result = on_result
        self._functions = functions or Functions((), None, awaits=AWAITS)
        self._run_id: str | None = None
        self._is_begun = False
        self._opened: AbstractAsyncContextManager[httpx.Response] | None = None
        self._events: AsyncIterator[RunEvent] | None = None
        self._result: RunResult | None = None
        self._is_left = False

    async def __aenter__(self) -> AsyncRunStream:
        if self._is_begun:
            raise RuntimeError("this run has already begun: call `stream_code` for another one")
        self._is_begun = True
        request = replace(await self._order.request(events=True), waits=self._waits)
        self._opened = self._transport.stream(request)
        self._events = self._read_events(await self._opened.__aenter__())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        assert self._opened is not None
        self._is_left = True
        return await self._opened.__aexit__(kind, error, traceback)

    @property
    def result(self) -> RunResult:
        """The result, once the run has ended."""
        if self._result is None:
            raise RuntimeError("the run has not ended: iterate over its events first")
        return self._result

    async def wait(self) -> RunResult:
        """Reads to the end of the run, and returns its result. Nobody sees the requests meanwhile, so calls
        that no `approve` decides about are not approved."""
        async for event in self:
            if isinstance(event, CallerRequest) and event.kind == "approval":
                await self._send({event.id: Refusal(NO_APPROVE)})
        return self.result

    async def answer(self, answers: Mapping[str, Any]) -> JsonObject:
        """Answers requests of the program while it goes on: an output or an exception for the id of each.

        An answer that is repeated changes nothing. Raises `RunNotFound` if the run has ended.
        """
        return await self._post(answers_of(answers))

    async def _post(self, answers: list[JsonObject]) -> JsonObject:
        if self._run_id is None:
            raise RuntimeError("the program has asked for nothing")
        path = f"{_calls.run_path(self._run_id)}/answers"
        request = _calls.post(path, {"answers": answers}, is_repeatable=True)
        return _calls.object_of(await self._transport.send(request))

    def __aiter__(self) -> AsyncIterator[RunEvent]:
        # There is only one iterator: a second loop continues where the first one stopped.
        if self._events is None:
            raise RuntimeError("use the run as a context manager")
        if self._is_left and self._result is None:
            raise RuntimeError("the run was stopped, because its context was left before its end")
        return self._events

    async def _read_events(self, response: httpx.Response) -> AsyncIterator[RunEvent]:
        if _calls.EVENTS not in response.headers.get("content-type", ""):
            # A repeated call gets the first answer, without events.
            self._end(_calls.result_of(response))
            return
        reader = EventReader()
        async for piece in self._transport.pieces(response):
            asked: list[CallerRequest] = []
            for event in reader.feed(piece):
                found = self._read(event)
                if isinstance(found, CallerRequest) and self._functions.knows(found):
                    asked.append(found)
                elif found is not None:
                    yield found
            await self._serve(asked)
        if self._result is None:
            raise BadAnswer("the events ended before the result")

    async def _serve(self, asked: list[CallerRequest]) -> None:
        """Answers requests for which there are functions."""
        calls = self._functions.calls(asked)
        if calls is None:
            return
        await self._send(outcomes_by_id(asked, await outcomes_of(calls)))

    async def _send(self, outcomes: Mapping[str, Any]) -> None:
        try:
            await taken(answers_of(outcomes), self._post)
        except RunNotFound:
            # The program has ended without waiting for them.
            pass

    def _read(self, event: Event) -> RunEvent | None:
        if event.name == "response":
            self._end(_calls.result_in(event.data))
            return None
        data = _wire.as_object(_wire.parse(event.data), event.name)
        if event.name == "request":
            self._run_id = _wire.text(data, "run_id")
            return CallerRequest.read(data)
        readers = {"output": Output.read, "progress": Progress.read, "left_out": LeftOut.read}
        reader = readers.get(event.name)
        return None if reader is None else reader(data)

    def _end(self, raw: JsonObject) -> None:
        self._result = bound(RunResult.read(raw), self._blobs)
        if self._on_result is not None:
            self._on_result(self._result)


class AsyncRun:
    """A run in the background. It continues even if its client disconnects."""

    def __init__(self, runs: AsyncRuns, started: DetachedRun) -> None:
        self._runs = runs
        self.run_id = started.run_id
        self.started = started

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.run_id}>"

    async def record(self) -> RunRecord:
        """The record of the run, which also has its progress."""
        return await self._runs.get(self.run_id)

    async def wait(self, timeout: float | None = None) -> RunResult:
        """Waits for the end of the run, and returns its result.

        Raises `RunNotEnded` after `timeout` seconds, and `RunWithoutResult` if it has no result.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            asked = time.monotonic()
            left = LONGEST_WAIT if end is None else min(LONGEST_WAIT, end - asked)
            record = await self._runs.get(self.run_id, wait=max(0.0, left))
            if record.status == "ended":
                if record.result is None:
                    raise RunWithoutResult(record)
                return record.result
            now = time.monotonic()
            if end is not None and now >= end:
                raise RunNotEnded(record)
            if now - asked < PAUSE / 2:
                await sleep(PAUSE if end is None else min(PAUSE, end - now))

    async def cancel(self) -> JsonObject:
        """Stops the run."""
        return await self._runs.cancel(self.run_id)

    async def log(self) -> str:
        """Everything that the run wrote, once it has ended."""
        return await self._runs.log(self.run_id)


class AsyncRuns:
    """The records of runs: `client.runs`."""

    def __init__(self, transport: AsyncTransport, blobs: AsyncBlobs) -> None:
        self._transport = transport
        self._blobs = blobs

    def of(self, run_id: str) -> AsyncRun:
        """The run with this id, which was started earlier in the background."""
        raw: JsonObject = {"run_id": run_id, "status": "running"}
        return AsyncRun(self, DetachedRun.read(raw))

    async def get(self, run_id: str, *, wait: float = 0.0) -> RunRecord:
        """The record of a run. Waits up to `wait` seconds for its end."""
        wait_ms = round(wait * 1_000) or None
        request = replace(_calls.get(_calls.run_path(run_id), wait_ms=wait_ms), waits=wait)
        record = RunRecord.read(_calls.object_of(await self._transport.send(request)))
        if record.result is not None:
            bound(record.result, self._blobs)
        return record

    async def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        outcome: str | None = None,
        skill: str | None = None,
        since: int | None = None,
    ) -> Page[RunRecord]:
        """A page of the ended runs, newest first. `since` is in milliseconds since 1970."""
        raw = await self._get(
            "/v1/runs", limit=limit, cursor=cursor, outcome=outcome, skill=skill, since=since
        )
        items = [RunRecord.read(run) for run in _wire.objects(raw, "runs")]
        return Page(items, _wire.text_or_none(raw, "next_cursor"), raw=raw)

    async def active(self) -> list[RunRecord]:
        """The runs in progress, newest first."""
        raw = await self._get("/v1/runs/active")
        return [RunRecord.read(run) for run in _wire.objects(raw, "runs")]

    async def cancel(self, run_id: str) -> JsonObject:
        """Stops a run. The answer has its `status` and, if it has ended, its `outcome`."""
        request = Request("POST", f"{_calls.run_path(run_id)}/cancel", True)
        return _calls.object_of(await self._transport.send(request))

    async def log(self, run_id: str) -> str:
        """Everything that a run wrote."""
        return (await self._transport.send(_calls.get(f"{_calls.run_path(run_id)}/log"))).text

    async def document(self, run_id: str) -> JsonObject:
        """The document of a reproducible run."""
        return await self._get(f"{_calls.run_path(run_id)}/record")

    async def _get(self, path: str, **params: object) -> JsonObject:
        return _calls.object_of(await self._transport.send(_calls.get(path, **params)))
