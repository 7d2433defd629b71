"""Sessions: interpreters that several calls use one after another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Unpack

from wardian import _calls, _wire
from wardian._async.blobs import AsyncBlobs
from wardian._async.answering import answered
from wardian._async.inputs import AsyncOrder
from wardian._async.runs import AsyncRunStream
from wardian._async.session_files import AsyncSessionFiles
from wardian._async.transport import AsyncTransport
from wardian._async_io import AWAITS
from wardian._caller_tools import Function, Tools
from wardian._calls import Request
from wardian._requests import Approve, Functions, answers_of
from wardian._wire import JsonObject
from wardian.errors import QuotaExceeded, SessionExpired, SessionNotFound, WardianError
from wardian.options import CellOptions
from wardian.results import RunResult, bound
from wardian.sessions import Cell, Checkpoint, SessionInfo, SessionPage


class AsyncSession:
    """A live interpreter. Variables, imports and files of a cell are available to the next one.

    A context manager, which closes the session at its end unless `keep` is true. A session that is
    not closed expires once it has been idle for too long.
    """

    def __init__(self, sessions: AsyncSessions, info: SessionInfo, *, keep: bool) -> None:
        self._sessions = sessions
        self.id = info.id
        self.label = info.label
        self.keep = keep
        self.checkpoint = info.checkpoint
        """The id of the state at which this client last saw the session; `None` before its first
        cell. Other clients may have moved it on: `info` asks the server."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.keep:
            return
        try:
            await self.close()
        except WardianError:
            # The error of the block is more important than one of its cleanup.
            if error is None:
                raise

    async def run(
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
        result = await self._sent({**params, **_wire.without_none(tools=declared)}, waits)
        return await self._served(result, functions, options)

    async def answer(
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
        result = await self._sent({**params, **_wire.without_none(tools=declared)}, waits)
        return await self._served(result, functions, options)

    async def abandon(self) -> RunResult:
        """Ends a cell that waits. It leaves no trace."""
        params, waits = self._cell("", {})
        return await self._sent({**params, "abandon": True}, waits)

    @property
    def files(self) -> AsyncSessionFiles:
        """The files in the working folder of the session."""
        return AsyncSessionFiles(self._sessions.transport, self.id, self._note_checkpoint)

    def stream(self, code: str, **options: Unpack[CellOptions]) -> AsyncRunStream:
        """Runs Python code as the next cell, and streams its output while it runs.

        Leaving the stream before its end stops the cell.
        """
        return self._streamed(*self._cell(code, options))

    def stream_answer(
        self, answers: Mapping[str, Any], **options: Unpack[CellOptions]
    ) -> AsyncRunStream:
        """Lets a cell go on that waits, as `answer` does, and streams its output while it runs."""
        return self._streamed(*self._answers(answers, options))

    async def info(self) -> SessionInfo:
        """The session as the server has it."""
        info, _ = await self._described()
        return info

    async def checkpoints(self) -> list[Checkpoint]:
        """The states that the session can be set back to."""
        _, checkpoints = await self._described()
        return checkpoints

    async def cells(self, *, after: int = 0, limit: int | None = None) -> list[Cell]:
        """The cells after the cell with the number `after`, with their results: at most `limit`, or
        all."""
        found: list[Cell] = []
        while limit is None or len(found) < limit:
            left = None if limit is None else limit - len(found)
            request = _calls.get(f"{self._path}/cells", after=after, limit=left)
            raw = _calls.object_of(await self._sessions.send(request))
            page = [Cell.read(cell) for cell in _wire.objects(raw, "cells")]
            if not page or page[-1].number <= after:
                break
            for cell in page:
                if cell.result is not None:
                    bound(cell.result, self._sessions.blobs)
            found += page
            after = page[-1].number
        return found

    async def notebook(self) -> JsonObject:
        """The cells and their outputs as a Jupyter notebook (nbformat 4)."""
        return _calls.object_of(await self._sessions.send(_calls.get(f"{self._path}/notebook")))

    async def record(self) -> JsonObject:
        """The record of a reproducible session: its cells, with what came out of them."""
        return _calls.object_of(await self._sessions.send(_calls.get(f"{self._path}/record")))

    async def fork(
        self,
        count: int = 1,
        *,
        checkpoint: str | Checkpoint | None = None,
        seed: int | None = None,
        keep: bool | None = None,
    ) -> list[AsyncSession]:
        """New sessions that begin with the state of this one, or with an earlier one.

        Each is closed on its own. `keep` defaults to that of this session. Forks of a reproducible
        session draw the same random numbers as it does, unless they get a `seed`. Raises
        `QuotaExceeded`, and leaves no fork, if the tenant may not have so many sessions.
        """
        body = _wire.without_none(count=count, checkpoint=_id_or_none(checkpoint), seed=seed)
        raw = await self._post("fork", body, is_repeatable=False)
        kept = self.keep if keep is None else keep
        forks: list[AsyncSession] = []
        refusal: str | None = None
        for one in _wire.objects(raw, "forks"):
            if "error" in one:
                refusal = _wire.text(one, "error")
            else:
                forks.append(AsyncSession(self._sessions, SessionInfo.read(one), keep=kept))
        if refusal is None:
            return forks
        for fork in forks:
            try:
                await fork.close()
            except WardianError:
                # The refusal is more important than an error of the cleanup: the fork expires.
                pass
        raise QuotaExceeded(refusal)

    async def restore(self, checkpoint: str | Checkpoint) -> SessionInfo:
        """Sets the session back to the state after an earlier cell."""
        body = {"checkpoint": str(checkpoint)}
        info = SessionInfo.read(await self._post("restore", body, is_repeatable=True))
        self.checkpoint = info.checkpoint
        return info

    async def name(self, checkpoint: str | Checkpoint | None, name: str) -> Checkpoint:
        """Names a checkpoint, or the current one for `None`. The server keeps named checkpoints as
        long as the session."""
        body = _wire.without_none(checkpoint=_id_or_none(checkpoint), name=name)
        return Checkpoint.read(await self._post("checkpoints", body, is_repeatable=True))

    async def forget(self, checkpoint: str | Checkpoint) -> None:
        """Removes a checkpoint. Raises `SessionConflict` for the one that the session is at."""
        path = f"{self._path}/checkpoints/{_calls.segment('checkpoint', str(checkpoint))}"
        await self._sessions.send(Request("DELETE", path, False))

    async def interrupt(self) -> bool:
        """Interrupts the cell that is running, like Ctrl-C: it gets a `KeyboardInterrupt`. False if
        no cell is running. For another thread or task than the one that waits in `run`."""
        return _wire.flag(await self._post("interrupt", {}, is_repeatable=False), "interrupted")

    async def close(self) -> None:
        """Closes the session and deletes its states. Does nothing if it has been closed or has
        expired."""
        try:
            await self._sessions.send(Request("DELETE", self._path, True))
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

    async def _sent(self, params: Mapping[str, Any], waits: float) -> RunResult:
        request = replace(await self._order(params).request(), waits=waits)
        raw = _calls.result_of(await self._sessions.send(request))
        return self._seen(bound(RunResult.read(raw), self._sessions.blobs))

    def _streamed(self, params: Mapping[str, Any], waits: float) -> AsyncRunStream:
        order = self._order(params)
        sessions = self._sessions
        return AsyncRunStream(
            sessions.transport, sessions.blobs, order, waits=waits, on_result=self._seen
        )

    async def _served(
        self, result: RunResult, functions: Functions, options: CellOptions
    ) -> RunResult:
        """Answers the requests of a cell until it has ended, or asks what no function answers."""

        async def send(answers: list[JsonObject]) -> RunResult:
            params, waits = self._cell("", options)
            return await self._sent({**params, "answers": answers}, waits)

        sessions = self._sessions
        return await answered(
            result, functions, send, sessions.transport, sessions.blobs, is_program=False
        )

    def _order(self, params: Mapping[str, Any]) -> AsyncOrder:
        return AsyncOrder(self._sessions.blobs, "run_code", params)

    def _note_checkpoint(self, checkpoint: str | None) -> None:
        self.checkpoint = checkpoint

    def _seen(self, result: RunResult) -> RunResult:
        """Notes where the session is after a cell."""
        if result.session is not None:
            self.checkpoint = result.session.checkpoint
        return result

    async def _described(self) -> tuple[SessionInfo, list[Checkpoint]]:
        raw = await self._sessions.described(self.id)
        info = SessionInfo.read(raw)
        self.checkpoint = info.checkpoint
        return info, [Checkpoint.read(one) for one in _wire.objects(raw, "checkpoints")]

    async def _post(self, what: str, body: Mapping[str, Any], *, is_repeatable: bool) -> JsonObject:
        request = _calls.post(f"{self._path}/{what}", body, is_repeatable=is_repeatable)
        return _calls.object_of(await self._sessions.send(request))


class AsyncSessions:
    """The sessions of a tenant."""

    def __init__(self, transport: AsyncTransport, blobs: AsyncBlobs) -> None:
        self.transport = transport
        self.blobs = blobs
        self.send = transport.send

    async def create(self, params: Mapping[str, Any], *, keep: bool) -> AsyncSession:
        """A new session."""
        request = _calls.post("/v1/sessions", params, is_repeatable=False)
        raw = _calls.object_of(await self.send(request))
        return AsyncSession(self, SessionInfo.read(raw), keep=keep)

    async def open(self, session_id: str, *, keep: bool) -> AsyncSession:
        """An existing session."""
        info = SessionInfo.read(await self.described(session_id))
        return AsyncSession(self, info, keep=keep)

    async def list(self, *, limit: int | None, cursor: str | None) -> SessionPage:
        """A page of the sessions."""
        request = _calls.get("/v1/sessions", limit=limit, cursor=cursor)
        return SessionPage.read(_calls.object_of(await self.send(request)))

    async def described(self, session_id: str) -> JsonObject:
        """The session with its checkpoints, as JSON."""
        request = _calls.get(_calls.session_path(session_id))
        return _calls.object_of(await self.send(request))


def _id_or_none(checkpoint: str | Checkpoint | None) -> str | None:
    return None if checkpoint is None else str(checkpoint)
