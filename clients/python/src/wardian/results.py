"""The results of calls, as typed values.

Each has `raw`, the JSON that it was read from. Members that only a newer server sends are in `raw`
alone.
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from os import PathLike
from pathlib import Path
from typing import Generic, Literal, Protocol, SupportsIndex, TypeAlias, TypeVar, cast, overload

from wardian import _wire
from wardian._wire import JsonObject, WardianError

Item = TypeVar("Item")
Bytes: TypeAlias = bytes
"""For annotations in a class that has a method `bytes`."""
Status = Literal["queued", "running", "ended"]
CellState = Literal["kept", "rolled_back", "waiting", "closed"]
RunStatus = Literal["completed", "failed", "waiting"]


class RunFailed(WardianError):
    """A program failed. Raised by `RunResult.completed` and by calls of `client.skills[...]`."""

    def __init__(self, result: RunResult) -> None:
        super().__init__(result.summary)
        self.result = result


class NoSuchFile(WardianError, LookupError):
    """The run did not leave a file of this name. The message names those that it left."""


class FileNotKept(WardianError):
    """The run left the file, but its content was not stored. The message says how to store it."""


def raw_field() -> JsonObject:
    """The field for the JSON of a result."""
    return field(repr=False, compare=False, kw_only=True)


@dataclass(frozen=True)
class Page(Generic[Item]):
    """A page of a list."""

    items: list[Item]
    next_cursor: str | None
    raw: JsonObject = raw_field()


@dataclass(frozen=True)
class ListedSkill:
    """A skill in a list. The members after `version` require `detail="summary"`."""

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
class DescribedScript:
    """A script of a skill."""

    path: str
    """`script` of `execute_skill`."""
    help: str | None
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> DescribedScript:
        return cls(path=_wire.text(raw, "path"), help=_wire.text_or_none(raw, "help"), raw=raw)


@dataclass(frozen=True)
class DescribedSkill:
    """The description of a skill."""

    manifest: JsonObject
    """skill.toml as JSON."""
    skill_md_frontmatter: JsonObject | None
    skill_md_content: str | None
    input_schema: JsonObject | None
    """JSON Schema of the arguments, with `detail="full"`."""
    scripts: list[DescribedScript]
    """What `script` of `execute_skill` can name, with `detail="full"`."""
    scripts_total: int | None
    signer: str | None
    """The trusted key that has signed the skill, with `detail="full"`."""
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> DescribedSkill:
        skill = _wire.as_object(raw.get("skill"), "skill")
        return cls(
            manifest=_wire.as_object(skill.get("manifest"), "manifest"),
            skill_md_frontmatter=_wire.object_or_none(skill, "skill_md_frontmatter"),
            skill_md_content=_wire.text_or_none(skill, "skill_md_content"),
            input_schema=_wire.object_or_none(skill, "input_schema"),
            scripts=[DescribedScript.read(one) for one in _wire.objects(skill, "scripts")],
            scripts_total=_wire.integer_or_none(skill, "scripts_total"),
            signer=_wire.text_or_none(skill, "signer"),
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
    """The blob with its content, if it was kept."""
    kind: str | None
    not_kept: str | None
    """The reason why it could not be stored, although the call requested it."""
    raw: JsonObject = raw_field()

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def is_kept(self) -> bool:
        """Whether its content was stored."""
        return self.blob_id is not None

    def blob(self) -> Blob:
        """The blob with its content. Raises `FileNotKept` if it was not stored."""
        if self.blob_id is None:
            reason = self.not_kept or "the call did not request it; list it in `keep_files`"
            raise FileNotKept(f"{self.path} was not kept: {reason}")
        return Blob(self.blob_id, self.size_bytes, self.kind, self.name, raw=self.raw)

    def bytes(self) -> Bytes:
        """The content. For results of a `Client`."""
        return _store(self).read(self.blob())

    def save(self, path: str | PathLike[str]) -> Path:
        """Writes the content to a file, or to an existing folder under its own name, and returns
        the path of the file. An existing file is replaced. For results of a `Client`."""
        return _store(self).download(self.blob(), self.place_at(path))

    async def bytes_async(self) -> Bytes:
        """Like `bytes`, for results of an `AsyncClient`."""
        return await _async_store(self).read(self.blob())

    async def save_async(self, path: str | PathLike[str]) -> Path:
        """Like `save`, for results of an `AsyncClient`."""
        return await _async_store(self).download(self.blob(), self.place_at(path))

    def place_at(self, path: str | PathLike[str]) -> Path:
        """The path to which `save` writes the file."""
        place = Path(path)
        return place / checked_parts(self.name)[0] if place.is_dir() else place

    def __getstate__(self) -> dict[str, object]:
        # A client cannot be copied to another process.
        return {name: value for name, value in vars(self).items() if name != STORE}

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


class RunFiles(list[RunFile]):
    """The files that a run left: a list that also finds a file by its path, or by the last part of
    its path if that is unique: `result.files["report.xlsx"]`."""

    @overload
    def __getitem__(self, at: SupportsIndex) -> RunFile: ...
    @overload
    def __getitem__(self, at: slice) -> list[RunFile]: ...
    @overload
    def __getitem__(self, at: str) -> RunFile: ...
    def __getitem__(self, at: SupportsIndex | slice | str) -> RunFile | list[RunFile]:
        if not isinstance(at, str):
            return super().__getitem__(at)
        found = self._named(at)
        if len(found) == 1:
            return found[0]
        names = ", ".join(file.path for file in found or self) or "none"
        if found:
            raise NoSuchFile(f"more than one file is called `{at}`, use its path: {names}")
        raise NoSuchFile(f"the run did not leave a file `{at}`: its files are {names}")

    def __contains__(self, file: object) -> bool:
        return bool(self._named(file)) if isinstance(file, str) else super().__contains__(file)

    def _named(self, name: str) -> list[RunFile]:
        exact = [file for file in self if file.path == name]
        return exact or [file for file in self if file.name == name]

    def kept(self) -> list[RunFile]:
        """The files whose content was stored."""
        return [file for file in self if file.is_kept]

    def save_all(self, folder: str | PathLike[str]) -> list[Path]:
        """Writes all kept files below a folder, which is created if needed, under their paths.
        Existing files are replaced. Finally raises `FileNotKept` if the run lost other files. For
        results of a `Client`."""
        places = [(file, _place_below(Path(folder), file)) for file in self.kept()]
        saved: list[Path] = []
        for file, place in places:
            place.parent.mkdir(parents=True, exist_ok=True)
            saved.append(_store(file).download(file.blob(), place))
        self.check_lost()
        return saved

    async def save_all_async(self, folder: str | PathLike[str]) -> list[Path]:
        """Like `save_all`, for results of an `AsyncClient`."""
        places = [(file, _place_below(Path(folder), file)) for file in self.kept()]
        saved: list[Path] = []
        for file, place in places:
            place.parent.mkdir(parents=True, exist_ok=True)
            saved.append(await _async_store(file).download(file.blob(), place))
        self.check_lost()
        return saved

    def check_lost(self) -> None:
        """Raises `FileNotKept` if a file could not be stored."""
        lost = [f"{file.path}: {file.not_kept}" for file in self if file.not_kept is not None]
        if lost:
            raise FileNotKept(f"{len(lost)} of {len(self)} files were not kept. {'; '.join(lost)}")


STORE = "_store"
"""The attribute of a file that refers to the blobs of its client. It is not part of the value."""


class Store(Protocol):
    """Reads files of a `Client`."""

    def read(self, blob_id: str | Blob) -> bytes: ...
    def download(self, blob_id: str | Blob, path: str | PathLike[str]) -> Path: ...


class AsyncStore(Protocol):
    """Reads files of an `AsyncClient`."""

    async def read(self, blob_id: str | Blob) -> bytes: ...
    async def download(self, blob_id: str | Blob, path: str | PathLike[str]) -> Path: ...


def bound(result: RunResult, store: Store | AsyncStore) -> RunResult:
    """The result, whose files this store now reads."""
    for file in result.files:
        vars(file)[STORE] = store
    return result


def _store(file: RunFile) -> Store:
    store = vars(file).get(STORE)
    if store is not None and not iscoroutinefunction(store.read):
        return cast(Store, store)
    raise TypeError(_wrong_client(store, "`save_async`, `bytes_async` or `save_all_async`"))


def _async_store(file: RunFile) -> AsyncStore:
    store = vars(file).get(STORE)
    if store is not None and iscoroutinefunction(store.read):
        return cast(AsyncStore, store)
    raise TypeError(_wrong_client(store, "`save`, `bytes` or `save_all`"))


def _wrong_client(store: object, methods: str) -> str:
    if store is None:
        return "this result does not come from a client: use `client.blobs` with its `blob_id`"
    return f"for a result of this client, use {methods}"


def checked_parts(path: str) -> list[str]:
    """The parts of a path that an untrusted program chose. Refuses a path that leads elsewhere."""
    parts = path.split("/")
    for part in parts:
        if part in ("", ".", "..") or any(sign in part for sign in UNSAFE):
            raise ValueError(f"the file `{path}` cannot be written under this name")
    return parts


UNSAFE = ("\0", *(("\\", ":") if os.name == "nt" else ()))
"""Characters that must not appear in a part of a path."""


def _place_below(folder: Path, file: RunFile) -> Path:
    place = folder.joinpath(*checked_parts(file.path))
    if not place.parent.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{place} leads out of the folder")
    return place


@dataclass(frozen=True)
class ConvertedValue:
    """Parts of an output that JSON cannot represent, and what they were converted to."""

    path: str
    """The path of the first of them in `output`, such as `$.rows[0].when`."""
    from_: str
    """Their type in Python, such as `datetime.date`. `from` is a keyword of Python."""
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
class SessionState:
    """A session after one of its cells."""

    id: str
    cell: int
    """The number of the cell."""
    checkpoint: str | None
    """The state that the session is at; `None` if it has none, or has ended."""
    state: CellState
    """`kept`: what the cell did stays. `rolled_back`: it left no trace. `waiting`: it goes on with
    answers. `closed`: the session has ended with the cell."""
    reason: str | None
    """Why it was rolled back."""
    state_digest: str | None
    """The digest of the whole memory and the workspace after the cell, in a reproducible session."""
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> SessionState:
        return cls(
            id=_wire.text(raw, "id"),
            cell=_wire.integer(raw, "cell"),
            checkpoint=_wire.text_or_none(raw, "checkpoint"),
            state=cast(CellState, _wire.text(raw, "state")),
            reason=_wire.text_or_none(raw, "reason"),
            state_digest=_wire.text_or_none(raw, "state_digest"),
            raw=raw,
        )


@dataclass(frozen=True)
class DisplayPart:
    """One form of an object that a cell displayed: a text, or a blob."""

    text: str | None
    blob: str | None
    """The id of the blob, for pictures and long texts."""
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> DisplayPart:
        return cls(
            text=_wire.text_or_none(raw, "text"),
            blob=_wire.text_or_none(raw, "blob"),
            raw=raw,
        )


Display: TypeAlias = dict[str, DisplayPart]
"""An object that a cell displayed: its forms by MIME type, such as `text/html`."""


def _displayed(raw: JsonObject) -> Display:
    return {kind: DisplayPart.read(_wire.as_object(part, kind)) for kind, part in raw.items()}


RequestKind: TypeAlias = Literal["tool", "input", "approval"]


@dataclass(frozen=True)
class CallerRequest:
    """Something that a cell asks of its caller: the call of a tool, a line of text, or the approval of a
    call."""

    id: str
    """Names the request in an answer."""
    kind: RequestKind
    name: str | None
    """The name of the tool."""
    arguments: JsonObject | None
    """The arguments of the tool."""
    prompt: str | None
    """What the line is asked for with."""
    hidden: bool | None
    """Whether the line is not to be shown while it is typed."""
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> CallerRequest:
        return cls(
            id=_wire.text(raw, "id"),
            kind=cast("RequestKind", _wire.text(raw, "kind")),
            name=_wire.text_or_none(raw, "name"),
            arguments=_wire.object_or_none(raw, "arguments"),
            prompt=_wire.text_or_none(raw, "prompt"),
            hidden=_wire.flag_or_none(raw, "hidden"),
            raw=raw,
        )


@dataclass(frozen=True)
class RunResult:
    """The result of a run that has ended, completed or failed, or of a cell that waits."""

    status: RunStatus
    run_id: str
    summary: str
    output: JsonObject | None
    """What the program returned. If `output_truncated`, the id of the blob that contains it."""
    converted: list[ConvertedValue]
    """The parts of the output that JSON cannot represent, and what they were converted to."""
    converted_total: int | None
    output_blobs: list[str]
    files: RunFiles
    files_total: int | None
    exit_code: int | None
    """The exit code of a script. `None` if it was stopped, and for other programs."""
    stdout: str | None
    stderr: str | None
    logs_preview: str
    error: RunError | None
    logs_truncated: bool
    output_truncated: bool
    duration_ms: int
    memory_peak_bytes: int
    fuel: int | None
    cached: bool | None
    """True if the result is from an earlier run, so that nothing was executed."""
    session: SessionState | None
    """The session after this cell, for code that ran in one."""
    display: list[Display]
    """What the cell displayed, in order."""
    requests: list[CallerRequest]
    """What the cell waits for, if the status is `waiting`."""
    raw: JsonObject = raw_field()

    @property
    def is_completed(self) -> bool:
        """Whether the program returned."""
        return self.status == "completed"

    def completed(self) -> RunResult:
        """Returns this result if the program returned; otherwise raises `RunFailed`."""
        if self.is_completed:
            return self
        raise RunFailed(self)

    @classmethod
    def read(cls, raw: JsonObject) -> RunResult:
        error = _wire.object_or_none(raw, "error")
        session = _wire.object_or_none(raw, "session")
        return cls(
            status=cast(RunStatus, _wire.text(raw, "status")),
            run_id=_wire.text(raw, "run_id"),
            summary=_wire.text(raw, "summary"),
            output=_wire.object_or_none(raw, "output"),
            converted=[ConvertedValue.read(one) for one in _wire.objects(raw, "converted")],
            converted_total=_wire.integer_or_none(raw, "converted_total"),
            output_blobs=_wire.texts(raw, "output_blobs"),
            files=RunFiles(RunFile.read(file) for file in _wire.objects(raw, "files")),
            files_total=_wire.integer_or_none(raw, "files_total"),
            exit_code=_wire.integer_or_none(raw, "exit_code"),
            stdout=_wire.text_or_none(raw, "stdout"),
            stderr=_wire.text_or_none(raw, "stderr"),
            logs_preview=_wire.text(raw, "logs_preview"),
            error=None if error is None else RunError.read(error),
            logs_truncated=_wire.flag(raw, "logs_truncated"),
            output_truncated=_wire.flag(raw, "output_truncated"),
            duration_ms=_wire.integer(raw, "duration_ms"),
            memory_peak_bytes=_wire.integer(raw, "memory_peak_bytes"),
            fuel=_wire.integer_or_none(raw, "fuel"),
            cached=_wire.flag_or_none(raw, "cached"),
            session=None if session is None else SessionState.read(session),
            display=[_displayed(one) for one in _wire.objects(raw, "display")],
            requests=[CallerRequest.read(one) for one in _wire.objects(raw, "requests")],
            raw=raw,
        )


@dataclass(frozen=True)
class DetachedRun:
    """The answer to a call with `detach`: the status of the run."""

    status: Status
    run_id: str
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> DetachedRun:
        status = cast(Status, _wire.text(raw, "status"))
        return cls(status=status, run_id=_wire.text(raw, "run_id"), raw=raw)


@dataclass(frozen=True)
class Output:
    """A piece of a program's output."""

    stream: Literal["stdout", "stderr", "log"]
    text: str
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> Output:
        stream = cast('Literal["stdout", "stderr", "log"]', _wire.text(raw, "stream"))
        return cls(stream=stream, text=_wire.text(raw, "text"), raw=raw)


@dataclass(frozen=True)
class Progress:
    """How far a program is, in units that it chooses."""

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
    """Output that was skipped because the client read too slowly. The log of the result has it."""

    bytes: int
    raw: JsonObject = raw_field()

    @classmethod
    def read(cls, raw: JsonObject) -> LeftOut:
        return cls(bytes=_wire.integer(raw, "bytes"), raw=raw)


@dataclass(frozen=True)
class RunRecord:
    """The record of a run. `raw` has all its members."""

    run_id: str
    status: Status
    kind: str
    """`run_code` or `execute_skill`."""
    skill: str | None
    version: str | None
    detached: bool
    started_ms: int
    progress: Progress | None
    """The last progress report of the program, while it runs."""
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
    name: str | None = None
    """The file name by which programs can open the blob."""
    raw: JsonObject = raw_field()

    def __str__(self) -> str:
        return self.blob_id

    @classmethod
    def read(cls, raw: JsonObject) -> Blob:
        return cls(
            blob_id=_wire.text(raw, "blob_id"),
            size_bytes=_wire.integer(raw, "size_bytes"),
            kind=_wire.text_or_none(raw, "kind"),
            name=_wire.text_or_none(raw, "name"),
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
    name: str | None = None
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
            name=_wire.text_or_none(raw, "name"),
            raw=raw,
        )
