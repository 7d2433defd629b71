# Made from `_async/sessions.py` by `generate.py`: change that file, not this one.
"""Sessions: interpreters that several calls use one after another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Unpack

from wardian import _calls, _wire
from wardian._sync.blobs import Blobs
from wardian._sync.answering import answered
from wardian._sync.inputs import Order
from wardian._sync.runs import RunStream
from wardian._sync.session_files import SessionFiles
from wardian._sync.transport import Transport
from wardian._sync_io import AWAITS
from wardian._caller_tools import Function, Tools
from wardian._calls import Request
from wardian._requests import Approve, Functions, answers_of
from wardian._wire import JsonObject
from wardian.errors import QuotaExceeded, SessionExpired, SessionNotFound, WardianError
from wardian.options import CellOptions
from wardian.results import RunResult, bound
from wardian.sessions import Cell, Checkpoint, SessionInfo, SessionPage


class Session:
    """A live interpreter. Variables, imports and files of a cell are available to the next one.

    A context manager, which closes the session at its end unless `keep` is true. A session that is
    not closed expires once it has been idle for too long.
    """

    def __init__(self, sessions: Sessions, info: SessionInfo, *, keep: bool) -> None:
        self._sessions = sessions
        self.id = info.id
        self.label = info.label
        self.keep = keep
        self.checkpoint = info.checkpoint
        """The id of the state at which this client last saw the session; `None` before its first
        cell. Other clients may have moved it on: `info` asks the server."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.keep:
            return
        try:
            self.close()
        except WardianError:
            # The error of the block is more important than one of its cleanup.
            if error is None:
                raise

    def run(
        self,
        code: str,
        *,
        tools: Tools = (),
        on_input: Function | None = None,
        approve: Approve | None = None,
        **options: Unpack[CellOptions],
    ) -> RunResult:
        """Runs Python code as the next cell. If the program fails, the result has
        `status="failed"`, and what it did until then stays.

        `tools` are functions that the program can call: `tools.NAME(...)`, a coroutine there. Their type
        hints are checked by the server. A mapping gives them other names, such as `crm.search`.
        `on_input` returns the line that the program asks for with a prompt. What they raise is
        raised in the program. `approve` decides as that of `run_code`. If there is no function for a
        request, the result has `status="waiting"` and `requests`, and `answer` goes on.

        `result.session` is the state of the session after the cell. `state="rolled_back"` means
        that the cell left no trace, for example because it was stopped by force. Raises
        `SessionBusy` if another cell is running or waits, after `wait_ms` at the earliest; and
        `SessionConflict` if the session is not at the checkpoint `if_checkpoint`.
        """
        functions = Functions(tools, on_input, approve, awaits=AWAITS)
        params, waits = self._cell(code, options)
        declared = functions.declared()
        result = self._sent({**params, **_wire.without_none(tools=declared)}, waits)
        return self._served(result, functions, options)

    def answer(
        self,
        answers: Mapping[str, Any],
        *,
        tools: Tools = (),
        on_input: Function | None = None,
        approve: Approve | None = None,
        **options: Unpack[CellOptions],
    ) -> RunResult:
        """Lets a cell go on that waits. `answers` has an output or an exception for the id of each
        of its requests. Returns the end of the cell, or what it waits for next.

        The answer to a request for an approval is `True`, `False`, or `{"arguments": {...}}`: yes, with
        these arguments. `tools`, `on_input` and `approve` serve further requests, as those of `run`;
        tools that are left out stay declared.
        """
        functions = Functions(tools, on_input, approve, awaits=AWAITS)
        params, waits = self._answers(answers, options)
        declared = functions.declared()
        result = self._sent({**params, **_wire.without_none(tools=declared)}, waits)
        return self._served(result, functions, options)

    def abandon(self) -> RunResult:
        """Ends a cell that waits. It leaves no trace."""
        params, waits = self._cell("", {})
        return self._sent({**params, "abandon": True}, waits)

    @property
    def files(self) -> SessionFiles:
        """The files in the working folder of the session."""
        return SessionFiles(self._sessions.transport, self.id, self._note_checkpoint)

    def stream(self, code: str, **options: Unpack[CellOptions]) -> RunStream:
        """Runs Python code as the next cell, and streams its output while it runs.

        Leaving the stream before its end stops the cell.
        """
        return self._streamed(*self._cell(code, options))

    def stream_answer(
        self, answers: Mapping[str, Any], **options: Unpack[CellOptions]
    ) -> RunStream:
        """Lets a cell go on that waits, as `answer` does, and streams its output while it runs."""
        return self._streamed(*self._answers(answers, options))

    def info(self) -> SessionInfo:
        """The session as the server has it."""
        info, _ = self._described()
        return info

    def checkpoints(self) -> list[Checkpoint]:
        """The states that the session can be set back to."""
        _, checkpoints = self._described()
        return checkpoints

    def cells(self, *, after: int = 0, limit: int | None = None) -> list[Cell]:
        """The cells after the cell with the number `after`, with their results: at most `limit`, or
        all."""
        found: list[Cell] = []
        while limit is None or len(found) < limit:
            left = None if limit is None else limit - len(found)
            request = _calls.get(f"{self._path}/cells", after=after, limit=left)
            raw = _calls.object_of(self._sessions.send(request))
            page = [Cell.read(cell) for cell in _wire.objects(raw, "cells")]
            if not page or page[-1].number <= after:
                break
            for cell in page:
                if cell.result is not None:
                    bound(cell.result, self._sessions.blobs)
            found += page
            after = page[-1].number
        return found

    def notebook(self) -> JsonObject:
        """The cells and their outputs as a Jupyter notebook (nbformat 4)."""
        return _calls.object_of(self._sessions.send(_calls.get(f"{self._path}/notebook")))

    def record(self) -> JsonObject:
        """The record of a reproducible session: its cells, with what came out of them."""
        return _calls.object_of(self._sessions.send(_calls.get(f"{self._path}/record")))

    def fork(
        self,
        count: int = 1,
        *,
        checkpoint: str | Checkpoint | None = None,
        seed: int | None = None,
        keep: bool | None = None,
    ) -> list[Session]:
        """New sessions that begin with the state of this one, or with an earlier one.

        Each is closed on its own. `keep` defaults to that of this session. Forks of a reproducible
        session draw the same random numbers as it does, unless they get a `seed`. Raises
        `QuotaExceeded`, and leaves no fork, if the tenant may not have so many sessions.
        """
        body = _wire.without_none(count=count, checkpoint=_id_or_none(checkpoint), seed=seed)
        raw = self._post("fork", body, is_repeatable=False)
        kept = self.keep if keep is None else keep
        forks: list[Session] = []
        refusal: str | None = None
        for one in _wire.objects(raw, "forks"):
            if "error" in one:
                refusal = _wire.text(one, "error")
            else:
                forks.append(Session(self._sessions, SessionInfo.read(one), keep=kept))
        if refusal is None:
            return forks
        for fork in forks:
            try:
                fork.close()
            except WardianError:
                # The refusal is more important than an error of the cleanup: the fork expires.
                pass
        raise QuotaExceeded(refusal)

    def restore(self, checkpoint: str | Checkpoint) -> SessionInfo:
        """Sets the session back to the state after an earlier cell."""
        body = {"checkpoint": str(checkpoint)}
        info = SessionInfo.read(self._post("restore", body, is_repeatable=True))
        self.checkpoint = info.checkpoint
        return info

    def name(self, checkpoint: str | Checkpoint | None, name: str) -> Checkpoint:
        """Names a checkpoint, or the current one for `None`. The server keeps named checkpoints as
        long as the session."""
        body = _wire.without_none(checkpoint=_id_or_none(checkpoint), name=name)
        return Checkpoint.read(self._post("checkpoints", body, is_repeatable=True))

    def forget(self, checkpoint: str | Checkpoint) -> None:
        """Removes a checkpoint. Raises `SessionConflict` for the one that the session is at."""
        path = f"{self._path}/checkpoints/{_calls.segment('checkpoint', str(checkpoint))}"
        self._sessions.send(Request("DELETE", path, False))

    def interrupt(self) -> bool:
        """Interrupts the cell that is running, like Ctrl-C: it gets a `KeyboardInterrupt`. False if
        no cell is running. For another thread or task than the one that waits in `run`."""
        return _wire.flag(self._post("interrupt", {}, is_repeatable=False), "interrupted")

    def close(self) -> None:
        """Closes the session and deletes its states. Does nothing if it has been closed or has
        expired."""
        try:
            self._sessions.send(Request("DELETE", self._path, True))
        except (SessionNotFound, SessionExpired):
            pass

    @property
    def _path(self) -> str:
        return _calls.session_path(self.id)

    def _cell(self, code: str, options: CellOptions) -> tuple[dict[str, Any], float]:
        """The parameters of a cell, and the seconds that the server may wait before it begins."""
        rest: dict[str, Any] = {**options}
        wait_ms = rest.pop("wait_ms", None)
        session = _wire.without_none(
            id=self.id, if_checkpoint=_id_or_none(rest.pop("if_checkpoint", None)), wait_ms=wait_ms
        )
        params = _wire.without_none(**{"language": "python", "code": code, **rest})
        return {**params, "session": session}, (wait_ms or 0) / 1_000

    def _answers(
        self, answers: Mapping[str, Any], options: CellOptions
    ) -> tuple[dict[str, Any], float]:
        """The parameters of the next part of a cell."""
        params, waits = self._cell("", options)
        return {**params, "answers": answers_of(answers)}, waits

    def _sent(self, params: Mapping[str, Any], waits: float) -> RunResult:
        request = replace(self._order(params).request(), waits=waits)
        raw = _calls.result_of(self._sessions.send(request))
        return self._seen(bound(RunResult.read(raw), self._sessions.blobs))

    def _streamed(self, params: Mapping[str, Any], waits: float) -> RunStream:
        order = self._order(params)
        sessions = self._sessions
        return RunStream(
            sessions.transport, sessions.blobs, order, waits=waits, on_result=self._seen
        )

    def _served(
        self, result: RunResult, functions: Functions, options: CellOptions
    ) -> RunResult:
        """Answers the requests of a cell until it has ended, or asks what no function answers."""

        def send(answers: list[JsonObject]) -> RunResult:
            params, waits = self._cell("", options)
            return self._sent({**params, "answers": answers}, waits)

        sessions = self._sessions
        return answered(
            result, functions, send, sessions.transport, sessions.blobs, is_program=False
        )

    def _order(self, params: Mapping[str, Any]) -> Order:
        return Order(self._sessions.blobs, "run_code", params)

    def _note_checkpoint(self, checkpoint: str | None) -> None:
        self.checkpoint = checkpoint

    def _seen(self, result: RunResult) -> RunResult:
        """Notes where the session is after a cell."""
        if result.session is not None:
            self.checkpoint = result.session.checkpoint
        return result

    def _described(self) -> tuple[SessionInfo, list[Checkpoint]]:
        raw = self._sessions.described(self.id)
        info = SessionInfo.read(raw)
        self.checkpoint = info.checkpoint
        return info, [Checkpoint.read(one) for one in _wire.objects(raw, "checkpoints")]

    def _post(self, what: str, body: Mapping[str, Any], *, is_repeatable: bool) -> JsonObject:
        request = _calls.post(f"{self._path}/{what}", body, is_repeatable=is_repeatable)
        return _calls.object_of(self._sessions.send(request))


class Sessions:
    """The sessions of a tenant."""

    def __init__(self, transport: Transport, blobs: Blobs) -> None:
        self.transport = transport
        self.blobs = blobs
        self.send = transport.send

    def create(self, params: Mapping[str, Any], *, keep: bool) -> Session:
        """A new session."""
        request = _calls.post("/v1/sessions", params, is_repeatable=False)
        raw = _calls.object_of(self.send(request))
        return Session(self, SessionInfo.read(raw), keep=keep)

    def open(self, session_id: str, *, keep: bool) -> Session:
        """An existing session."""
        info = SessionInfo.read(self.described(session_id))
        return Session(self, info, keep=keep)

    def list(self, *, limit: int | None, cursor: str | None) -> SessionPage:
        """A page of the sessions."""
        request = _calls.get("/v1/sessions", limit=limit, cursor=cursor)
        return SessionPage.read(_calls.object_of(self.send(request)))

    def described(self, session_id: str) -> JsonObject:
        """The session with its checkpoints, as JSON."""
        request = _calls.get(_calls.session_path(session_id))
        return _calls.object_of(self.send(request))


def _id_or_none(checkpoint: str | Checkpoint | None) -> str | None:
    return None if checkpoint is None else str(checkpoint)
