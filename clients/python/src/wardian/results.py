"""The results of calls, as values with types.

Each has `raw`, the JSON that it was made from. Members that a newer server sends are only there.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar, cast

from wardian import _wire
from wardian._wire import JsonObject
from wardian.errors import RunFailed

Item = TypeVar("Item")
Status = Literal["queued", "running", "ended"]


def raw_field() -> JsonObject:
    """The member that has the JSON of a result."""
    return field(repr=False, compare=False, kw_only=True)


@dataclass(frozen=True)
class Page(Generic[Item]):
    """A page of a list."""

    items: list[Item]
    next_cursor: str | None
    raw: JsonObject = raw_field()


@dataclass(frozen=True)
class ListedSkill:
    """One skill of a list. The members after `version` come with `detail="summary"`."""

    name: str
    version: str
    description: str | None
    namespace: str | None
    kind: Literal["action", "instruction"] | None
    tags: list[str]
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> ListedSkill:
        return cls(
            name=_wire.text(raw, "name"),
            version=_wire.text(raw, "version"),
            description=_wire.text_or_none(raw, "description"),
            namespace=_wire.text_or_none(raw, "namespace"),
            kind=cast('Literal["action", "instruction"] | None', _wire.text_or_none(raw, "kind")),
            tags=_wire.texts(raw, "tags"),
            raw=raw,
        )


@dataclass(frozen=True)
class DescribedSkill:
    """The description of a skill."""

    manifest: JsonObject
    """skill.toml as JSON."""
    skill_md_frontmatter: JsonObject | None
    skill_md_content: str | None
    input_schema: JsonObject | None
    """JSON Schema of the arguments, with `detail="full"`."""
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> DescribedSkill:
        skill = _wire.as_object(raw.get("skill"), "skill")
        return cls(
            manifest=_wire.as_object(skill.get("manifest"), "manifest"),
            skill_md_frontmatter=_wire.object_or_none(skill, "skill_md_frontmatter"),
            skill_md_content=_wire.text_or_none(skill, "skill_md_content"),
            input_schema=_wire.object_or_none(skill, "input_schema"),
            raw=raw,
        )


@dataclass(frozen=True)
class SkillFile:
    """A file of a skill."""

    content: str
    encoding: Literal["base64"] | None
    raw: JsonObject = raw_field()

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return base64.b64decode(self.content) if self.encoding else self.content.encode()

    @classmethod
    def read(cls, raw: JsonObject) -> SkillFile:
        encoding = cast('Literal["base64"] | None', _wire.text_or_none(raw, "encoding"))
        return cls(content=_wire.text(raw, "content"), encoding=encoding, raw=raw)


@dataclass(frozen=True)
class RunFile:
    """A file that a run left in its workspace."""

    path: str
    size_bytes: int
    blob_id: str | None
    """The blob that has its content, if it was kept."""
    kind: str | None
    not_kept: str | None
    """The reason why it could not be stored although the call asked for it."""
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> RunFile:
        return cls(
            path=_wire.text(raw, "path"),
            size_bytes=_wire.integer(raw, "size_bytes"),
            blob_id=_wire.text_or_none(raw, "blob_id"),
            kind=_wire.text_or_none(raw, "kind"),
            not_kept=_wire.text_or_none(raw, "not_kept"),
            raw=raw,
        )


@dataclass(frozen=True)
class ConvertedValue:
    """Parts of an output that JSON cannot hold, and what they have become."""

    path: str
    """The place of the first of them in `output`, such as `$.rows[0].when`."""
    from_: str
    """Their type in Python, such as `datetime.date`. `from` itself is a word of Python."""
    to: str
    count: int | None
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> ConvertedValue:
        return cls(
            path=_wire.text(raw, "path"),
            from_=_wire.text(raw, "from"),
            to=_wire.text(raw, "to"),
            count=_wire.integer_or_none(raw, "count"),
            raw=raw,
        )


@dataclass(frozen=True)
class RunError:
    """The reason why a run failed."""

    type: str
    """The class of a Python exception, or a type of the host such as `Timeout`."""
    message: str
    traceback: str | None
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> RunError:
        return cls(
            type=_wire.text(raw, "type"),
            message=_wire.text(raw, "message"),
            traceback=_wire.text_or_none(raw, "traceback"),
            raw=raw,
        )


@dataclass(frozen=True)
class RunResult:
    """The result of a run that has ended, completed or failed."""

    status: Literal["completed", "failed"]
    run_id: str
    summary: str
    output: JsonObject | None
    """What the program returned. With `output_truncated`, the id of a blob that has it."""
    converted: list[ConvertedValue]
    """The parts of the output that JSON cannot hold, and what they have become."""
    converted_total: int | None
    output_blobs: list[str]
    files: list[RunFile]
    files_total: int | None
    logs_preview: str
    error: RunError | None
    logs_truncated: bool
    output_truncated: bool
    duration_ms: int
    memory_peak_bytes: int
    fuel: int | None
    cached: bool | None
    """True if the result was kept from an earlier run, so that nothing was executed."""
    raw: JsonObject = raw_field()

    @property
    def is_completed(self) -> bool:
        """Whether the program returned."""
        return self.status == "completed"

    def completed(self) -> RunResult:
        """This result, if the program returned; otherwise raises `RunFailed`."""
        if self.is_completed:
            return self
        raise RunFailed(self)

    @classmethod
    def read(cls, raw: JsonObject) -> RunResult:
        error = _wire.object_or_none(raw, "error")
        return cls(
            status=cast('Literal["completed", "failed"]', _wire.text(raw, "status")),
            run_id=_wire.text(raw, "run_id"),
            summary=_wire.text(raw, "summary"),
            output=_wire.object_or_none(raw, "output"),
            converted=[ConvertedValue.read(one) for one in _wire.objects(raw, "converted")],
            converted_total=_wire.integer_or_none(raw, "converted_total"),
            output_blobs=_wire.texts(raw, "output_blobs"),
            files=[RunFile.read(file) for file in _wire.objects(raw, "files")],
            files_total=_wire.integer_or_none(raw, "files_total"),
            logs_preview=_wire.text(raw, "logs_preview"),
            error=None if error is None else RunError.read(error),
            logs_truncated=_wire.flag(raw, "logs_truncated"),
            output_truncated=_wire.flag(raw, "output_truncated"),
            duration_ms=_wire.integer(raw, "duration_ms"),
            memory_peak_bytes=_wire.integer(raw, "memory_peak_bytes"),
            fuel=_wire.integer_or_none(raw, "fuel"),
            cached=_wire.flag_or_none(raw, "cached"),
            raw=raw,
        )


@dataclass(frozen=True)
class DetachedRun:
    """The answer to a call with `detach`: how far the run is."""

    status: Status
    run_id: str
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> DetachedRun:
        status = cast(Status, _wire.text(raw, "status"))
        return cls(status=status, run_id=_wire.text(raw, "run_id"), raw=raw)


@dataclass(frozen=True)
class Output:
    """A piece of what a program prints."""

    stream: Literal["stdout", "stderr", "log"]
    text: str
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> Output:
        stream = cast('Literal["stdout", "stderr", "log"]', _wire.text(raw, "stream"))
        return cls(stream=stream, text=_wire.text(raw, "text"), raw=raw)


@dataclass(frozen=True)
class Progress:
    """How far a program is, in units of its own choice."""

    done: float
    total: float | None
    message: str | None
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> Progress:
        return cls(
            done=_wire.number(raw, "done"),
            total=_wire.number_or_none(raw, "total"),
            message=_wire.text_or_none(raw, "message"),
            raw=raw,
        )


@dataclass(frozen=True)
class LeftOut:
    """Output that did not come because it was read too slowly. The log of the result has it."""

    bytes: int
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> LeftOut:
        return cls(bytes=_wire.integer(raw, "bytes"), raw=raw)


@dataclass(frozen=True)
class RunRecord:
    """What the server knows of a run. `raw` has all of the record."""

    run_id: str
    status: Status
    kind: str
    """`run_code` or `execute_skill`."""
    skill: str | None
    version: str | None
    detached: bool
    started_ms: int
    progress: Progress | None
    """The last report of the program, while it runs."""
    outcome: str | None
    """How it ended, such as `completed` or `timeout`."""
    result: RunResult | None
    """The result of a run in the background that has ended."""
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> RunRecord:
        progress = _wire.object_or_none(raw, "progress")
        result = _wire.object_or_none(raw, "result")
        skill = raw.get("skill")
        version = _wire.text_or_none(raw, "version") if isinstance(skill, str) else None
        if isinstance(skill, dict):
            version = _wire.text_or_none(skill, "version")
            skill = _wire.text(skill, "name")
        return cls(
            run_id=_wire.text(raw, "run_id"),
            status=cast(Status, _wire.text_or_none(raw, "status") or "ended"),
            kind=_wire.text(raw, "kind"),
            skill=cast("str | None", skill),
            version=version,
            detached=raw.get("detached") is True,
            started_ms=_wire.integer(raw, "started_ms"),
            progress=None if progress is None else Progress.read(progress),
            outcome=_wire.text_or_none(raw, "outcome"),
            result=None if result is None else RunResult.read(result),
            raw=raw,
        )


@dataclass(frozen=True)
class Blob:
    """A stored blob."""

    blob_id: str
    size_bytes: int
    kind: str | None = None
    raw: JsonObject = raw_field()

    def __str__(self) -> str:
        return self.blob_id

    @classmethod
    def read(cls, raw: JsonObject) -> Blob:
        return cls(
            blob_id=_wire.text(raw, "blob_id"),
            size_bytes=_wire.integer(raw, "size_bytes"),
            kind=_wire.text_or_none(raw, "kind"),
            raw=raw,
        )


@dataclass(frozen=True)
class BlobSample:
    """A part of a blob, as `read_blob` returns it."""

    content: str
    truncated: bool
    kind: str
    size_bytes: int
    encoding: Literal["utf-8", "base64"]
    raw: JsonObject = raw_field()

    @property
    def data(self) -> bytes:
        """The bytes of the part."""
        is_base64 = self.encoding == "base64"
        return base64.b64decode(self.content) if is_base64 else self.content.encode()

    @classmethod
    def read(cls, raw: JsonObject) -> BlobSample:
        return cls(
            content=_wire.text(raw, "content"),
            truncated=_wire.flag(raw, "truncated"),
            kind=_wire.text(raw, "kind"),
            size_bytes=_wire.integer(raw, "size_bytes"),
            encoding=cast('Literal["utf-8", "base64"]', _wire.text(raw, "encoding")),
            raw=raw,
        )
