# Made from `_async/runs.py` by `generate.py`: change that file, not this one.
"""Runs: streamed ones, those in the background, and the records of all runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeAlias

import httpx

from wardian import _calls, _wire
from wardian._sync.answering import taken
from wardian._sync.blobs import Blobs
from wardian._sync.inputs import Order
from wardian._sync.transport import Transport
from wardian._sync_io import AWAITS, outcomes_of, sleep
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


class RunStream:
    """A run that streams its output: a context manager and an iterator.

    Leaving the context before the end stops the run. Functions answer what the program asks while the
    events are read; a request without a function is an event, and `answer` answers it.
    """

    def __init__(
        self,
        transport: Transport,
        blobs: Blobs,
        order: Order,
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
        self._opened: AbstractContextManager[httpx.Response] | None = None
        self._events: Iterator[RunEvent] | None = None
        self._result: RunResult | None = None
        self._is_left = False

    def __enter__(self) -> RunStream:
        if self._is_begun:
            raise RuntimeError("this run has already begun: call `stream_code` for another one")
        self._is_begun = True
        request = replace(self._order.request(events=True), waits=self._waits)
        self._opened = self._transport.stream(request)
        self._events = self._read_events(self._opened.__enter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        assert self._opened is not None
        self._is_left = True
        return self._opened.__exit__(kind, error, traceback)

    @property
    def result(self) -> RunResult:
        """The result, once the run has ended."""
        if self._result is None:
            raise RuntimeError("the run has not ended: iterate over its events first")
        return self._result

    def wait(self) -> RunResult:
        """Reads to the end of the run, and returns its result. Nobody sees the requests meanwhile, so calls
        that no `approve` decides about are not approved."""
        for event in self:
            if isinstance(event, CallerRequest) and event.kind == "approval":
                self._send({event.id: Refusal(NO_APPROVE)})
        return self.result

    def answer(self, answers: Mapping[str, Any]) -> JsonObject:
        """Answers requests of the program while it goes on: an output or an exception for the id of each.

        An answer that is repeated changes nothing. Raises `RunNotFound` if the run has ended.
        """
        return self._post(answers_of(answers))

    def _post(self, answers: list[JsonObject]) -> JsonObject:
        if self._run_id is None:
            raise RuntimeError("the program has asked for nothing")
        path = f"{_calls.run_path(self._run_id)}/answers"
        request = _calls.post(path, {"answers": answers}, is_repeatable=True)
        return _calls.object_of(self._transport.send(request))

    def __iter__(self) -> Iterator[RunEvent]:
        # There is only one iterator: a second loop continues where the first one stopped.
        if self._events is None:
            raise RuntimeError("use the run as a context manager")
        if self._is_left and self._result is None:
            raise RuntimeError("the run was stopped, because its context was left before its end")
        return self._events

    def _read_events(self, response: httpx.Response) -> Iterator[RunEvent]:
        if _calls.EVENTS not in response.headers.get("content-type", ""):
            # A repeated call gets the first answer, without events.
            self._end(_calls.result_of(response))
            return
        reader = EventReader()
        for piece in self._transport.pieces(response):
            asked: list[CallerRequest] = []
            for event in reader.feed(piece):
                found = self._read(event)
                if isinstance(found, CallerRequest) and self._functions.knows(found):
                    asked.append(found)
                elif found is not None:
                    yield found
            self._serve(asked)
        if self._result is None:
            raise BadAnswer("the events ended before the result")

    def _serve(self, asked: list[CallerRequest]) -> None:
        """Answers requests for which there are functions."""
        calls = self._functions.calls(asked)
        if calls is None:
            return
        self._send(outcomes_by_id(asked, outcomes_of(calls)))

    def _send(self, outcomes: Mapping[str, Any]) -> None:
        try:
            taken(answers_of(outcomes), self._post)
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


class Run:
    """A run in the background. It continues even if its client disconnects."""

    def __init__(self, runs: Runs, started: DetachedRun) -> None:
        self._runs = runs
        self.run_id = started.run_id
        self.started = started

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.run_id}>"

    def record(self) -> RunRecord:
        """The record of the run, which also has its progress."""
        return self._runs.get(self.run_id)

    def wait(self, timeout: float | None = None) -> RunResult:
        """Waits for the end of the run, and returns its result.

        Raises `RunNotEnded` after `timeout` seconds, and `RunWithoutResult` if it has no result.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            asked = time.monotonic()
            left = LONGEST_WAIT if end is None else min(LONGEST_WAIT, end - asked)
            record = self._runs.get(self.run_id, wait=max(0.0, left))
            if record.status == "ended":
                if record.result is None:
                    raise RunWithoutResult(record)
                return record.result
            now = time.monotonic()
            if end is not None and now >= end:
                raise RunNotEnded(record)
            if now - asked < PAUSE / 2:
                sleep(PAUSE if end is None else min(PAUSE, end - now))

    def cancel(self) -> JsonObject:
        """Stops the run."""
        return self._runs.cancel(self.run_id)

    def log(self) -> str:
        """Everything that the run wrote, once it has ended."""
        return self._runs.log(self.run_id)


class Runs:
    """The records of runs: `client.runs`."""

    def __init__(self, transport: Transport, blobs: Blobs) -> None:
        self._transport = transport
        self._blobs = blobs

    def of(self, run_id: str) -> Run:
        """The run with this id, which was started earlier in the background."""
        raw: JsonObject = {"run_id": run_id, "status": "running"}
        return Run(self, DetachedRun.read(raw))

    def get(self, run_id: str, *, wait: float = 0.0) -> RunRecord:
        """The record of a run. Waits up to `wait` seconds for its end."""
        wait_ms = round(wait * 1_000) or None
        request = replace(_calls.get(_calls.run_path(run_id), wait_ms=wait_ms), waits=wait)
        record = RunRecord.read(_calls.object_of(self._transport.send(request)))
        if record.result is not None:
            bound(record.result, self._blobs)
        return record

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        outcome: str | None = None,
        skill: str | None = None,
        since: int | None = None,
    ) -> Page[RunRecord]:
        """A page of the ended runs, newest first. `since` is in milliseconds since 1970."""
        raw = self._get(
            "/v1/runs", limit=limit, cursor=cursor, outcome=outcome, skill=skill, since=since
        )
        items = [RunRecord.read(run) for run in _wire.objects(raw, "runs")]
        return Page(items, _wire.text_or_none(raw, "next_cursor"), raw=raw)

    def active(self) -> list[RunRecord]:
        """The runs in progress, newest first."""
        raw = self._get("/v1/runs/active")
        return [RunRecord.read(run) for run in _wire.objects(raw, "runs")]

    def cancel(self, run_id: str) -> JsonObject:
        """Stops a run. The answer has its `status` and, if it has ended, its `outcome`."""
        request = Request("POST", f"{_calls.run_path(run_id)}/cancel", True)
        return _calls.object_of(self._transport.send(request))

    def log(self, run_id: str) -> str:
        """Everything that a run wrote."""
        return (self._transport.send(_calls.get(f"{_calls.run_path(run_id)}/log"))).text

    def document(self, run_id: str) -> JsonObject:
        """The document of a reproducible run."""
        return self._get(f"{_calls.run_path(run_id)}/record")

    def _get(self, path: str, **params: object) -> JsonObject:
        return _calls.object_of(self._transport.send(_calls.get(path, **params)))
