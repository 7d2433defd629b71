"""What a server says about sessions, as typed values. `raw` is the JSON that a value was read from.

Times are in milliseconds since 1970, like those of runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from wardian import _wire
from wardian._wire import JsonObject
from wardian.results import RunResult, raw_field

CellProgress = Literal["running", "waiting", "kept", "rolled_back"]


@dataclass(frozen=True)
class ForkedFrom:
    """The state that a session was forked from. Neither need exist any more."""

    session: str
    checkpoint: str
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> ForkedFrom:
        return cls(_wire.text(raw, "session"), _wire.text(raw, "checkpoint"), raw=raw)


@dataclass(frozen=True)
class SessionInfo:
    """A session."""

    id: str
    label: str | None
    created_ms: int
    used_ms: int
    """When it was made, restored or last ran a cell."""
    expires_ms: int
    """When it ends unless it is used before."""
    cells: int
    """The number of its last cell. A fork counts on from the cell that it was made after."""
    checkpoint: str | None
    """The state that it is at; `None` before the end of its first cell."""
    is_warm: bool
    """Whether a worker has its state in memory, so that the next cell begins sooner."""
    guest_memory_bytes: int | None
    """The size of that memory, if it is known."""
    parked_own_bytes: int
    """What its states take on the server's disk that it alone needs. Closing it frees them."""
    parked_shared_bytes: int
    """What its states take that other sessions need too: it was forked, or is a fork."""
    forked_from: ForkedFrom | None
    """The state that it was forked from."""
    run_id: str | None
    """The run of its cell that is running."""
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> SessionInfo:
        origin = _wire.object_or_none(raw, "forked_from")
        return cls(
            id=_wire.text(raw, "id"),
            label=_wire.text_or_none(raw, "label"),
            created_ms=_wire.integer(raw, "created_ms"),
            used_ms=_wire.integer(raw, "used_ms"),
            expires_ms=_wire.integer(raw, "expires_ms"),
            cells=_wire.integer(raw, "cells"),
            checkpoint=_wire.text_or_none(raw, "checkpoint"),
            is_warm=_wire.flag(raw, "is_warm"),
            guest_memory_bytes=_wire.integer_or_none(raw, "guest_memory_bytes"),
            parked_own_bytes=_wire.integer(raw, "parked_own_bytes"),
            parked_shared_bytes=_wire.integer(raw, "parked_shared_bytes"),
            forked_from=None if origin is None else ForkedFrom.read(origin),
            run_id=_wire.text_or_none(raw, "run_id"),
            raw=raw,
        )


@dataclass(frozen=True)
class Checkpoint:
    """The state of a session after a cell. Methods that take the id of a checkpoint also take it."""

    id: str
    parent: str | None
    """The checkpoint that its cell began with."""
    cell: int
    """The number of the cell."""
    name: str | None
    created_ms: int
    bytes: int
    """The size of its data on the server's disk."""
    raw: JsonObject = raw_field()

    def __str__(self) -> str:
        return self.id

    @classmethod
    def read(cls, raw: JsonObject) -> Checkpoint:
        return cls(
            id=_wire.text(raw, "id"),
            parent=_wire.text_or_none(raw, "parent"),
            cell=_wire.integer(raw, "cell"),
            name=_wire.text_or_none(raw, "name"),
            created_ms=_wire.integer(raw, "created_ms"),
            bytes=_wire.integer(raw, "bytes"),
            raw=raw,
        )


@dataclass(frozen=True)
class Cell:
    """One call in a session."""

    number: int
    source: str | None
    """The code, if the server keeps it."""
    state: CellProgress
    checkpoint: str | None
    """The state after the cell, if it was kept and still exists."""
    began_ms: int
    result: RunResult | None
    """The result, if the cell has ended and the server keeps results."""
    reason: str | None = None
    """Why the cell is rolled back, if its result does not say so: the server stopped, for example."""
    left: bool = False
    """Whether it was kept, and the session has gone back to a checkpoint before it."""
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> Cell:
        result = _wire.object_or_none(raw, "result")
        return cls(
            number=_wire.integer(raw, "number"),
            source=_wire.text_or_none(raw, "source"),
            state=cast(CellProgress, _wire.text(raw, "state")),
            checkpoint=_wire.text_or_none(raw, "checkpoint"),
            began_ms=_wire.integer(raw, "began_ms"),
            result=None if result is None else RunResult.read(result),
            reason=_wire.text_or_none(raw, "reason"),
            left=raw.get("left") is True,
            raw=raw,
        )


@dataclass(frozen=True)
class SessionFile:
    """A file, a folder or a link in the working folder of a session."""

    path: str
    """Its path below that folder."""
    kind: Literal["file", "folder", "link"]
    size_bytes: int
    modified_ms: int
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> SessionFile:
        return cls(
            path=_wire.text(raw, "path"),
            kind=cast(Literal["file", "folder", "link"], _wire.text(raw, "kind")),
            size_bytes=_wire.integer(raw, "size_bytes"),
            modified_ms=_wire.integer(raw, "modified_ms"),
            raw=raw,
        )


@dataclass(frozen=True)
class FileChange:
    """A file of a session that was written or removed."""

    path: str
    size_bytes: int | None
    """Its size; `None` if it was removed."""
    replaced: bool
    """Whether there was a file of this path before."""
    cell: int
    """The number of the change among the cells of the session."""
    checkpoint: str | None
    """The state after the change."""
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> FileChange:
        session = _wire.as_object(raw.get("session"), "session")
        return cls(
            path=_wire.text(raw, "path"),
            size_bytes=_wire.integer(raw, "size_bytes") if "size_bytes" in raw else None,
            replaced=_wire.flag(raw, "replaced"),
            cell=_wire.integer(session, "cell"),
            checkpoint=_wire.text_or_none(session, "checkpoint"),
            raw=raw,
        )


@dataclass(frozen=True)
class SessionUsage:
    """What all sessions of a tenant take."""

    sessions: int
    bytes: int
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> SessionUsage:
        return cls(_wire.integer(raw, "sessions"), _wire.integer(raw, "bytes"), raw=raw)


@dataclass(frozen=True)
class SessionPage:
    """A page of the sessions."""

    items: list[SessionInfo]
    next_cursor: str | None
    usage: SessionUsage
    """What all sessions take, not only those of the page."""
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> SessionPage:
        items = [SessionInfo.read(one) for one in _wire.objects(raw, "sessions")]
        usage = SessionUsage.read(_wire.as_object(raw.get("usage"), "usage"))
        return cls(items, _wire.text_or_none(raw, "next_cursor"), usage, raw=raw)
