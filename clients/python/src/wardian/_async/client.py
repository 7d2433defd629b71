"""The client, and skills as functions: `client.skills["data.csv.profile"](csv_blob=...)`.

A skill calls the client that created it, so both are in one file.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any, Unpack, cast

import httpx

from wardian import _calls, _wire
from wardian._async.answering import answered
from wardian._async.blobs import AsyncBlobs
from wardian._async.inputs import AsyncOrder
from wardian._async.runs import AsyncRun, AsyncRuns, AsyncRunStream
from wardian._async.sessions import AsyncSession, AsyncSessions
from wardian._async.transport import AsyncTransport
from wardian._async_io import AWAITS
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


class AsyncClient:
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
        http: httpx.AsyncClient | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        server = _calls.settings(url, api_key, timeout)
        self.url = server.url
        self._is_own = http is None
        self._http = http or httpx.AsyncClient()
        self._on_close = on_close
        self._transport = AsyncTransport(self._http, server, retry or RetryPolicy())
        self.blobs = AsyncBlobs(self._transport)
        self.runs = AsyncRuns(self._transport, self.blobs)
        self.skills = AsyncSkills(self)
        self._sessions = AsyncSessions(self._transport, self.blobs)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections, and stops the server if `wardian.local` started it."""
        try:
            if self._is_own:
                await self._http.aclose()
        finally:
            if self._on_close is not None:
                self._on_close()

    async def call(
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
            return (await self._served(method, named, functions)).raw
        raw = _calls.result_of(await self._transport.send(_calls.call(method, named)))
        if approve is None or raw.get("status") != "waiting":
            return raw
        return (await self._finished(RunResult.read(raw), named, functions)).raw

    async def list_skills(
        self,
        namespace: str | None = None,
        *,
        detail: ListDetail | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[ListedSkill]:
        """A page of the skills, sorted by name."""
        params = {"namespace": namespace, "detail": detail, "limit": limit, "cursor": cursor}
        raw = await self.call("list_skills", params)
        items = [ListedSkill.read(skill) for skill in _wire.objects(raw, "skills")]
        return Page(items, _wire.text_or_none(raw, "next_cursor"), raw=raw)

    async def iter_skills(
        self, namespace: str | None = None, *, detail: ListDetail | None = None
    ) -> AsyncIterator[ListedSkill]:
        """Iterates over all skills. Pages are fetched as needed."""
        cursor: str | None = None
        while True:
            page = await self.list_skills(namespace, detail=detail, cursor=cursor)
            for skill in page.items:
                yield skill
            cursor = page.next_cursor
            if cursor is None:
                return

    async def describe_skill(
        self, name: str, *, version: str | None = None, detail: DescribeDetail | None = None
    ) -> DescribedSkill:
        """The manifest and the documentation of a skill."""
        params = {"name": name, "version": version, "detail": detail}
        return DescribedSkill.read(await self.call("describe_skill", params))

    async def read_skill_file(
        self, name: str, path: str, *, version: str | None = None
    ) -> SkillFile:
        """A file of a skill."""
        params = {"name": name, "path": path, "version": version}
        return SkillFile.read(await self.call("read_skill_file", params))

    async def execute_skill(
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
        return await self._served("execute_skill", _skill(name, args, options), functions)

    async def run_code(
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

        `tools` are functions that the program can call, such as `await tools.NAME(...)`. They run here,
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
        return await self._served("run_code", _code(code, args, options), functions)

    def stream_skill(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        *,
        tools: Tools = (),
        on_input: Function | None = None,
        approve: Approve | None = None,
        **options: Unpack[SkillOptions],
    ) -> AsyncRunStream:
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
    ) -> AsyncRunStream:
        """Runs Python code and streams its output while it runs.

        `tools` are called as soon as the program asks for them, while it goes on, and so is `approve` if
        there are `tools`.
        """
        functions = Functions(tools, on_input, approve, awaits=AWAITS)
        return self._stream("run_code", _code(code, args, options), functions)

    async def start_skill(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        **options: Unpack[SkillOptions],
    ) -> AsyncRun:
        """Executes a skill in the background."""
        return await self._start("execute_skill", _skill(name, args, options))

    async def start_code(
        self,
        code: str,
        args: Mapping[str, Any] | None = None,
        **options: Unpack[CodeOptions],
    ) -> AsyncRun:
        """Runs Python code in the background."""
        return await self._start("run_code", _code(code, args, options))

    async def session(
        self, *, keep: bool = False, **options: Unpack[SessionOptions]
    ) -> AsyncSession:
        """A new session: an interpreter that several calls of `run` use one after another.

        The session is a context manager, which closes it at its end unless `keep` is true.
        """
        params: dict[str, Any] = {**options}
        return await self._sessions.create(_wire.without_none(**params), keep=keep)

    async def open_session(self, session_id: str, *, keep: bool = True) -> AsyncSession:
        """An existing session. Raises `SessionNotFound` or `SessionExpired` if there is none.

        As a context manager it is closed at the end only if `keep` is false.
        """
        return await self._sessions.open(session_id, keep=keep)

    async def sessions(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> SessionPage:
        """A page of the sessions, and what all of them take."""
        return await self._sessions.list(limit=limit, cursor=cursor)

    async def create_blob(
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
        raw = await self.call("create_blob", params)
        blob = Blob.read(raw)
        return Blob(blob.blob_id, blob.size_bytes, kind, blob.name, raw=raw)

    async def read_blob(
        self, blob_id: str | Blob, mode: SampleMode | None = None, *, max_bytes: int | None = None
    ) -> BlobSample:
        """A part of a blob, for people and models. `blobs.read` returns all of it."""
        params = {"blob_id": str(blob_id), "mode": mode, "max_bytes": max_bytes}
        return BlobSample.read(await self.call("read_blob", params))

    async def load_skills_protocol_guide(self) -> str:
        """The guide for models, as Markdown."""
        return _wire.text(await self.call("load_skills_protocol_guide"), "content")

    async def tools(self, format: ToolFormat = "plain") -> list[JsonObject]:
        """The definitions of the eight tools, in the format of a model vendor."""
        response = await self._transport.send(_calls.get("/tools", format=format))
        tools = _wire.as_list(_wire.parse(response.content), "tools")
        return [_wire.as_object(tool, "tool") for tool in tools]

    async def openrpc(self) -> JsonObject:
        """The description of the methods, as an OpenRPC document."""
        return await self.call("rpc.discover")

    async def version(self) -> JsonObject:
        """Name and version of the server, and how it isolates runs."""
        return _calls.object_of(await self._transport.send(_calls.get("/version")))

    async def _start(self, method: str, params: dict[str, Any]) -> AsyncRun:
        order = AsyncOrder(self.blobs, method, {**params, "detach": True})
        raw = _calls.result_of(await self._transport.send(await order.request()))
        return AsyncRun(self.runs, DetachedRun.read(raw))

    async def _run(self, method: str, params: dict[str, Any]) -> RunResult:
        order = AsyncOrder(self.blobs, method, params)
        raw = _calls.result_of(await self._transport.send(await order.request()))
        return bound(RunResult.read(raw), self.blobs)

    async def _served(
        self, method: str, params: dict[str, Any], functions: Functions
    ) -> RunResult:
        """Runs a program whose requests the functions answer, to its end."""
        declared = functions.declared()
        result = await self._run(method, {**params, **_wire.without_none(tools=declared)})
        return await self._finished(result, params, functions)

    async def _finished(
        self, result: RunResult, params: Mapping[str, Any], functions: Functions
    ) -> RunResult:
        """Answers the requests of a program that was begun with `params`, as far as there are functions."""

        async def send(answers: list[JsonObject]) -> RunResult:
            assert result.session is not None
            return await self._run("run_code", _next_part(params, result.session.id, answers))

        is_program = params.get("session") is None
        return await answered(
            result, functions, send, self._transport, self.blobs, is_program=is_program
        )

    def _stream(
        self, method: str, params: dict[str, Any], functions: Functions
    ) -> AsyncRunStream:
        declared = functions.declared()
        if declared is not None:
            params = {**params, "tools": declared}
        order = AsyncOrder(self.blobs, method, params)
        return AsyncRunStream(self._transport, self.blobs, order, functions=functions)


class AsyncSkill:
    """One skill. Calling it executes it."""

    def __init__(self, client: AsyncClient, name: str, options: SkillOptions) -> None:
        self._client = client
        self.name = name
        self._options = options

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def using(self, **options: Unpack[SkillOptions]) -> AsyncSkill:
        """The same skill, with options for its calls such as `timeout_ms` or `version`."""
        return AsyncSkill(self._client, self.name, cast(SkillOptions, {**self._options, **options}))

    async def __call__(self, **args: Any) -> RunResult:
        """Executes the skill with these arguments. Raises `RunFailed` if it fails.

        A `Path`, bytes, an open file or a table is stored as a blob, and the skill gets its id.
        """
        result = await self._client.execute_skill(self.name, args, **self._options)
        return result.completed()

    async def start(self, **args: Any) -> AsyncRun:
        """Executes the skill in the background."""
        return await self._client.start_skill(self.name, args, **self._options)

    def stream(self, **args: Any) -> AsyncRunStream:
        """Executes the skill and streams its output while it runs."""
        return self._client.stream_skill(self.name, args, **self._options)

    async def describe(self, detail: DescribeDetail = "full") -> DescribedSkill:
        """The description of the skill, including the schema of its arguments."""
        version = self._options.get("version")
        return await self._client.describe_skill(self.name, version=version, detail=detail)

    async def read_file(self, path: str) -> SkillFile:
        """A file of the skill."""
        version = self._options.get("version")
        return await self._client.read_skill_file(self.name, path, version=version)


class AsyncSkills:
    """The skills of a server, by their names: `client.skills`."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    def __getitem__(self, name: str) -> AsyncSkill:
        """The skill `name`, `name@version` or `name@version#digest`. Nothing is sent."""
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"the name of a skill is a str, not {type(name).__name__}")
        return AsyncSkill(self._client, name, {})

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


