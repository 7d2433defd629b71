# Made from `_async/client.py` by `generate.py`: change that file, not this one.
"""The client, and skills as functions: `client.skills["data.csv.profile"](csv_blob=...)`.

A skill calls the client that created it, so both are in one file.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Callable, Mapping
from types import TracebackType
from typing import Any, Unpack, cast

import httpx

from wardian import _calls, _wire
from wardian._sync.answering import answered
from wardian._sync.blobs import Blobs
from wardian._sync.inputs import Order
from wardian._sync.runs import Run, Runs, RunStream
from wardian._sync.sessions import Session, Sessions
from wardian._sync.transport import Transport
from wardian._sync_io import AWAITS
from wardian._caller_tools import Function, Tools
from wardian._requests import Approve, Functions
from wardian._retry import RetryPolicy
from wardian._wire import JsonObject
from wardian.options import (
    CodeOptions,
    DescribeDetail,
    Encoding,
    ListDetail,
    SampleMode,
    SessionOptions,
    SkillOptions,
    ToolFormat,
)
from wardian.results import (
    Blob,
    BlobSample,
    DescribedSkill,
    DetachedRun,
    ListedSkill,
    Page,
    RunResult,
    SkillFile,
    bound,
)
from wardian.sessions import SessionPage


class Client:
    """A client of a Wardian server.

    `url` defaults to the environment variable `WARDIAN_URL`, or `http://127.0.0.1:8080`, and
    `api_key` to `WARDIAN_API_KEY`. `timeout` is the time to wait for an answer, in seconds. `http`
    is an httpx client to use instead of a new one: it is neither changed nor closed.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout: float | None = 600.0,
        retry: RetryPolicy | None = None,
        http: httpx.Client | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        server = _calls.settings(url, api_key, timeout)
        self.url = server.url
        self._is_own = http is None
        self._http = http or httpx.Client()
        self._on_close = on_close
        self._transport = Transport(self._http, server, retry or RetryPolicy())
        self.blobs = Blobs(self._transport)
        self.runs = Runs(self._transport, self.blobs)
        self.skills = Skills(self)
        self._sessions = Sessions(self._transport, self.blobs)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections, and stops the server if `wardian.local` started it."""
        try:
            if self._is_own:
                self._http.close()
        finally:
            if self._on_close is not None:
                self._on_close()

    def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        tools: Tools = (),
        approve: Approve | None = None,
    ) -> JsonObject:
        """Calls a method by its name, and returns its result as JSON. `tools` and `approve` are those of
        `run_code`."""
        functions = Functions(tools, None, approve, awaits=AWAITS)
        named = _wire.without_none(**(params or {}))
        if tools:
            return (self._served(method, named, functions)).raw
        raw = _calls.result_of(self._transport.send(_calls.call(method, named)))
        if approve is None or raw.get("status") != "waiting":
            return raw
        return (self._finished(RunResult.read(raw), named, functions)).raw

    def list_skills(
        self,
        namespace: str | None = None,
        *,
        detail: ListDetail | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[ListedSkill]:
        """A page of the skills, sorted by name."""
        params = {"namespace": namespace, "detail": detail, "limit": limit, "cursor": cursor}
        raw = self.call("list_skills", params)
        items = [ListedSkill.read(skill) for skill in _wire.objects(raw, "skills")]
        return Page(items, _wire.text_or_none(raw, "next_cursor"), raw=raw)

    def iter_skills(
        self, namespace: str | None = None, *, detail: ListDetail | None = None
    ) -> Iterator[ListedSkill]:
        """Iterates over all skills. Pages are fetched as needed."""
        cursor: str | None = None
        while True:
            page = self.list_skills(namespace, detail=detail, cursor=cursor)
            for skill in page.items:
                yield skill
            cursor = page.next_cursor
            if cursor is None:
                return

    def describe_skill(
        self, name: str, *, version: str | None = None, detail: DescribeDetail | None = None
    ) -> DescribedSkill:
        """The manifest and the documentation of a skill."""
        params = {"name": name, "version": version, "detail": detail}
        return DescribedSkill.read(self.call("describe_skill", params))

    def read_skill_file(
        self, name: str, path: str, *, version: str | None = None
    ) -> SkillFile:
        """A file of a skill."""
        params = {"name": name, "path": path, "version": version}
        return SkillFile.read(self.call("read_skill_file", params))

    def execute_skill(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        *,
        tools: Tools = (),
        on_input: Function | None = None,
        approve: Approve | None = None,
        **options: Unpack[SkillOptions],
    ) -> RunResult:
        """Executes a skill. If it fails, the result has `status="failed"`.

        The skill can call `tools`, as with `run_code`, and `approve` decides as there.
        """
        functions = Functions(tools, on_input, approve, awaits=AWAITS)
        return self._served("execute_skill", _skill(name, args, options), functions)

    def run_code(
        self,
        code: str,
        args: Mapping[str, Any] | None = None,
        *,
        tools: Tools = (),
        on_input: Function | None = None,
        approve: Approve | None = None,
        **options: Unpack[CodeOptions],
    ) -> RunResult:
        """Runs Python code. If the program fails, the result has `status="failed"`.

        `tools` are functions that the program can call, such as `tools.NAME(...)`. They run here,
        and what they raise is a `tools.ToolError` in the program. Their type hints are checked by the
        server. A mapping gives them other names, such as `crm.search`. With tools, `on_input` returns
        the lines that the program asks for.

        `approve(name, arguments)` decides about a call of a tool of the operator's servers that needs an
        approval. It returns `True`, `False`, a dict of other arguments with which the call is made, or
        a text, the reason why it is not. What it raises is such a reason, too. Without `approve`, a run
        with `tools` goes on without the call, and any other has `status="waiting"` and `requests`.

        A `Path`, bytes, a file that is open in binary mode, a DataFrame or a Series among the
        arguments, at any depth, is stored as a blob. The program gets the id of the blob, and the
        blob is mounted. A `Blob` or a file of another result among the arguments is also mounted.
        """
        functions = Functions(tools, on_input, approve, awaits=AWAITS)
        return self._served("run_code", _code(code, args, options), functions)

    def stream_skill(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        *,
        tools: Tools = (),
        on_input: Function | None = None,
        approve: Approve | None = None,
        **options: Unpack[SkillOptions],
    ) -> RunStream:
        """Executes a skill and streams its output while it runs, as `stream_code`."""
        functions = Functions(tools, on_input, approve, awaits=AWAITS)
        return self._stream("execute_skill", _skill(name, args, options), functions)

    def stream_code(
        self,
        code: str,
        args: Mapping[str, Any] | None = None,
        *,
        tools: Tools = (),
        on_input: Function | None = None,
        approve: Approve | None = None,
        **options: Unpack[CodeOptions],
    ) -> RunStream:
        """Runs Python code and streams its output while it runs.

        `tools` are called as soon as the program asks for them, while it goes on, and so is `approve` if
        there are `tools`.
        """
        functions = Functions(tools, on_input, approve, awaits=AWAITS)
        return self._stream("run_code", _code(code, args, options), functions)

    def start_skill(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        **options: Unpack[SkillOptions],
    ) -> Run:
        """Executes a skill in the background."""
        return self._start("execute_skill", _skill(name, args, options))

    def start_code(
        self,
        code: str,
        args: Mapping[str, Any] | None = None,
        **options: Unpack[CodeOptions],
    ) -> Run:
        """Runs Python code in the background."""
        return self._start("run_code", _code(code, args, options))

    def session(
        self, *, keep: bool = False, **options: Unpack[SessionOptions]
    ) -> Session:
        """A new session: an interpreter that several calls of `run` use one after another.

        The session is a context manager, which closes it at its end unless `keep` is true.
        """
        params: dict[str, Any] = {**options}
        return self._sessions.create(_wire.without_none(**params), keep=keep)

    def open_session(self, session_id: str, *, keep: bool = True) -> Session:
        """An existing session. Raises `SessionNotFound` or `SessionExpired` if there is none.

        As a context manager it is closed at the end only if `keep` is false.
        """
        return self._sessions.open(session_id, keep=keep)

    def sessions(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> SessionPage:
        """A page of the sessions, and what all of them take."""
        return self._sessions.list(limit=limit, cursor=cursor)

    def create_blob(
        self,
        content: str | bytes,
        kind: str,
        *,
        encoding: Encoding | None = None,
        name: str | None = None,
        idempotency_key: str | None = None,
    ) -> Blob:
        """Stores a blob in one call. For large content, `blobs.upload` uses less memory.

        `name` is a file name: programs can open the blob by it.
        """
        if isinstance(content, bytes):
            content, encoding = base64.b64encode(content).decode(), "base64"
        params = {
            "content": content,
            "kind": kind,
            # A `str` is sent as text, whatever the kind.
            "encoding": encoding or "utf-8",
            "name": name,
            "idempotency_key": idempotency_key,
        }
        raw = self.call("create_blob", params)
        blob = Blob.read(raw)
        return Blob(blob.blob_id, blob.size_bytes, kind, blob.name, raw=raw)

    def read_blob(
        self, blob_id: str | Blob, mode: SampleMode | None = None, *, max_bytes: int | None = None
    ) -> BlobSample:
        """A part of a blob, for people and models. `blobs.read` returns all of it."""
        params = {"blob_id": str(blob_id), "mode": mode, "max_bytes": max_bytes}
        return BlobSample.read(self.call("read_blob", params))

    def load_skills_protocol_guide(self) -> str:
        """The guide for models, as Markdown."""
        return _wire.text(self.call("load_skills_protocol_guide"), "content")

    def tools(self, format: ToolFormat = "plain") -> list[JsonObject]:
        """The definitions of the eight tools, in the format of a model vendor."""
        response = self._transport.send(_calls.get("/tools", format=format))
        tools = _wire.as_list(_wire.parse(response.content), "tools")
        return [_wire.as_object(tool, "tool") for tool in tools]

    def openrpc(self) -> JsonObject:
        """The description of the methods, as an OpenRPC document."""
        return self.call("rpc.discover")

    def version(self) -> JsonObject:
        """Name and version of the server, and how it isolates runs."""
        return _calls.object_of(self._transport.send(_calls.get("/version")))

    def _start(self, method: str, params: dict[str, Any]) -> Run:
        order = Order(self.blobs, method, {**params, "detach": True})
        raw = _calls.result_of(self._transport.send(order.request()))
        return Run(self.runs, DetachedRun.read(raw))

    def _run(self, method: str, params: dict[str, Any]) -> RunResult:
        order = Order(self.blobs, method, params)
        raw = _calls.result_of(self._transport.send(order.request()))
        return bound(RunResult.read(raw), self.blobs)

    def _served(
        self, method: str, params: dict[str, Any], functions: Functions
    ) -> RunResult:
        """Runs a program whose requests the functions answer, to its end."""
        declared = functions.declared()
        result = self._run(method, {**params, **_wire.without_none(tools=declared)})
        return self._finished(result, params, functions)

    def _finished(
        self, result: RunResult, params: Mapping[str, Any], functions: Functions
    ) -> RunResult:
        """Answers the requests of a program that was begun with `params`, as far as there are functions."""

        def send(answers: list[JsonObject]) -> RunResult:
            assert result.session is not None
            return self._run("run_code", _next_part(params, result.session.id, answers))

        is_program = params.get("session") is None
        return answered(
            result, functions, send, self._transport, self.blobs, is_program=is_program
        )

    def _stream(
        self, method: str, params: dict[str, Any], functions: Functions
    ) -> RunStream:
        declared = functions.declared()
        if declared is not None:
            params = {**params, "tools": declared}
        order = Order(self.blobs, method, params)
        return RunStream(self._transport, self.blobs, order, functions=functions)


class Skill:
    """One skill. Calling it executes it."""

    def __init__(self, client: Client, name: str, options: SkillOptions) -> None:
        self._client = client
        self.name = name
        self._options = options

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def using(self, **options: Unpack[SkillOptions]) -> Skill:
        """The same skill, with options for its calls such as `timeout_ms` or `version`."""
        return Skill(self._client, self.name, cast(SkillOptions, {**self._options, **options}))

    def __call__(self, **args: Any) -> RunResult:
        """Executes the skill with these arguments. Raises `RunFailed` if it fails.

        A `Path`, bytes, an open file or a table is stored as a blob, and the skill gets its id.
        """
        result = self._client.execute_skill(self.name, args, **self._options)
        return result.completed()

    def start(self, **args: Any) -> Run:
        """Executes the skill in the background."""
        return self._client.start_skill(self.name, args, **self._options)

    def stream(self, **args: Any) -> RunStream:
        """Executes the skill and streams its output while it runs."""
        return self._client.stream_skill(self.name, args, **self._options)

    def describe(self, detail: DescribeDetail = "full") -> DescribedSkill:
        """The description of the skill, including the schema of its arguments."""
        version = self._options.get("version")
        return self._client.describe_skill(self.name, version=version, detail=detail)

    def read_file(self, path: str) -> SkillFile:
        """A file of the skill."""
        version = self._options.get("version")
        return self._client.read_skill_file(self.name, path, version=version)


class Skills:
    """The skills of a server, by their names: `client.skills`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getitem__(self, name: str) -> Skill:
        """The skill `name`, `name@version` or `name@version#digest`. Nothing is sent."""
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"the name of a skill is a str, not {type(name).__name__}")
        return Skill(self._client, name, {})

    # Without these, Python would iterate by calling `__getitem__` with 0, 1, 2 and so on, forever.
    # `client.iter_skills` lists the skills.
    __iter__ = None
    __contains__ = None


def _skill(
    name: str, args: Mapping[str, Any] | None, options: SkillOptions
) -> dict[str, Any]:
    _refuse_detach(options)
    return _wire.without_none(name=name, args=args, **options)


def _code(code: str, args: Mapping[str, Any] | None, options: CodeOptions) -> dict[str, Any]:
    _refuse_detach(options)
    return _wire.without_none(**{"language": "python", "code": code, "args": args, **options})


_OF_EACH_PART = ("keep_files", "strict_output", "timeout_ms", "limits", "label")


def _next_part(
    params: Mapping[str, Any], session: str, answers: list[JsonObject]
) -> dict[str, Any]:
    """The call with which a run goes on that waits."""
    part = {name: params[name] for name in _OF_EACH_PART if name in params}
    begun = params.get("session")
    choice: dict[str, Any] = {"id": session}
    if isinstance(begun, dict) and "keep" in begun:
        choice["keep"] = begun["keep"]
    return {"language": "python", "code": "", "session": choice, "answers": answers, **part}


def _refuse_detach(options: Mapping[str, object]) -> None:
    """Refuses the option that would change the type of the result."""
    if "detach" in options:
        raise TypeError("`detach` is not an option: use `start_code` or `start_skill`")


