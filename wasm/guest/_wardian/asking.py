"""What a cell asks of the caller of its session: tools that the call has declared, and lines of text.

A request is a future of the session's event loop. When nothing in the loop can go on without an answer,
the turn ends with the requests, and the host may copy the memory: coroutines are objects in it, and
the native stack is empty. The next turn brings the answers, and the loop goes on.

A plain `input()` or `getpass()` has the native stack below it. Where a cell calls it outside of functions,
it becomes an `await` before the cell is compiled. Elsewhere the turn ends in the middle of the host call,
and the host holds the interpreter as it is until the next turn.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import json
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from _wardian import door, event_loop, library, result

ROUND_MAX = 256
"""Most requests of one turn, as the host takes them. Others wait for the next one."""

ARGUMENTS_MAX = 256 << 10
"""Most bytes of the arguments of one call as JSON, as the host takes them."""

PROMPT_MAX = 16 << 10
"""Most bytes of a prompt, as the host takes them. A longer one is cut."""

ROUND_BYTES_MAX = 1 << 20
"""Most bytes of the requests of one turn, as the host takes them."""

QUIET_MAX = 30.0
"""Most seconds for which a program that waits for its caller goes on waiting for connections on which
nothing happens."""

_WAITS, _ASKS, _TELLS, _ASKS_SOON, _RESTS = (
    door.CELL + operation for operation in (b"\3", b"\4", b"\5", b"\6", b"\7")
)
SIGNAL_CHECKS = 8
"""How often the interpreter looks for a signal after a wait: one that came meanwhile is there by then."""

_now = time.monotonic
_encode_text: Any = json.encoder.encode_basestring


class ToolError(Exception):
    """A tool has failed, or its arguments or output are not what its schemas say. `tool` is its name."""

    def __init__(self, message: str, tool: str | None = None) -> None:
        super().__init__(message)
        self.message, self.tool = message, tool


ToolError.__module__ = "runtime.tools"


class _Request:
    """Something that is asked, until it is answered or its task gives up."""

    __slots__ = ("content", "future", "tool")

    def __init__(self, content: bytes, tool: str | None, future: asyncio.Future[Any]) -> None:
        self.content, self.tool, self.future = content, tool, future


names: set[str] = set()
"""The names of the tools of the present call. `called_tools` keeps what else is known of them."""


def _describe_none() -> str:
    return "the call has declared none"


describe_declared: Callable[[], str] = _describe_none
"""Says in a message which tools there are; `called_tools` knows that."""

_pending: dict[int, _Request] = {}
_count = 0
_loop: Callable[[], asyncio.AbstractEventLoop] | None = None


async def ask_tool(name: str, arguments: dict[str, Any]) -> Any:
    """Calls a tool of the caller, and returns its output, which is JSON data.

    Raises:
        ToolError: The tool has failed, or the call has not declared it.
        TypeError: The arguments are not JSON data.
    """
    return await _answer(_call(name, arguments), name)


def ask_tool_now(name: str, arguments: dict[str, Any]) -> Any:
    """As `ask_tool`, for a function that cannot `await`."""
    return _answer_now(_call(name, arguments), name)


def unknown(name: str) -> ToolError:
    """The error for a tool that the call has not declared."""
    return ToolError(f"there is no tool {name!r}; {describe_declared()}", name)


def _call(name: str, arguments: dict[str, Any]) -> bytes:
    if name not in names:
        raise unknown(name)
    encoded = result.to_json(arguments, "arguments")
    if len(encoded) > ARGUMENTS_MAX:
        raise ValueError(
            f"the arguments have {len(encoded)} bytes of JSON, and at most {ARGUMENTS_MAX} are "
            f"possible; write them to a blob with `runtime.blobs` and pass its id"
        )
    return b'"tool":{"name":%b,"arguments":%b}' % (_encode_text(name).encode(), encoded)


async def ask_input(prompt: object = "", hidden: bool = False) -> str:
    """Asks for a line of text, and shows the prompt to whoever answers.

    Raises:
        EOFError: There is no answer, as the caller says.
    """
    answer: str = await _answer(_line(prompt, hidden), None)
    return answer


def ask_input_now(prompt: object = "", hidden: bool = False) -> str:
    """As `ask_input`, for a function that cannot `await`."""
    answer: str = _answer_now(_line(prompt, hidden), None)
    return answer


def can_ask() -> bool:
    """True in a cell of a session, whose caller can answer."""
    return _loop is not None and bool(door.job.get("cell"))


def _ask_hidden(prompt: str) -> str | None:
    return ask_input_now(prompt, hidden=True) if can_ask() else None


def _line(prompt: object, hidden: bool) -> bytes:
    text = str(prompt).encode("utf-8", "replace")[:PROMPT_MAX].decode("utf-8", "ignore")
    shown = _encode_text(text).encode("utf-8", "replace")
    flag = b"true" if hidden else b"false"
    return b'"input":{"prompt":%b,"hidden":%b}' % (shown, flag)


async def _answer(content: bytes, tool: str | None) -> Any:
    """Asks, and waits for the answer."""
    global _count
    if _loop is None or not can_ask():
        raise RuntimeError("only the cells of a session can ask their caller: call with `session`")
    loop = asyncio.get_running_loop()
    if loop is not _loop() and not _watch(loop):
        return _answer_now(content, tool)
    future: asyncio.Future[Any] = loop.create_future()
    _count += 1
    number = _count
    _pending[number] = _Request(content, tool, future)
    _tell(number, content)
    try:
        return await future
    finally:
        _pending.pop(number, None)


def _answer_now(content: bytes, tool: str | None) -> Any:
    """Asks in the middle of a call. Nothing else of the program goes on meanwhile."""
    global _count
    if not can_ask():
        raise RuntimeError("only the cells of a session can ask their caller: call with `session`")
    _count += 1
    _show_output()
    [answer] = door.ask_json(b'%b[{"number":%d,%b}]' % (_ASKS, _count, content))
    if answer.get("interrupt"):
        raise KeyboardInterrupt
    error = answer.get("error")
    if error is None:
        return _checked(tool, answer.get("output"))
    raise _failure(tool, error)


def _tell(number: int, content: bytes) -> None:
    """Tells a caller that hears along what is asked. It comes with the end of the turn, too."""
    try:
        _show_output()
        door.ask(b'%b{"number":%d,%b}' % (_TELLS, number, content))
    except Exception:  # the run has made too many calls; the end of the turn says so
        pass


def _show_output() -> None:
    """Writes out what was printed: whoever answers has to see it."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _watch(loop: Any) -> bool:
    """Lets a loop that runs within a function, as that of `asyncio.run`, ask when nothing else in it can
    go on. Its native stack is not empty, so the turn ends in the middle of a host call. False for a loop
    of the program's own."""
    if not isinstance(loop, event_loop.SandboxEventLoop):
        return False
    selector: Any = loop._selector  # type: ignore[attr-defined]
    if selector.idle is None:
        selector.idle, selector.last_event = (lambda linked: _hold(loop, linked)), _now()
    return True


def _hold(loop: Any, has_connections: bool) -> float | None:
    """Asks for all that this loop waits for, in the middle of a call."""
    if not is_asked(loop):
        return None
    if has_connections and not is_all(loop):
        rest: float = loop._selector.last_event + QUIET_MAX - _now()
        if rest > 0:
            return rest
    _show_output()
    settle(door.ask_json(_ASKS + _round(loop)))
    return 0.0


def is_answered_soon(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any] | None) -> bool:
    """Lets a caller that hears along answer at once what this loop waits for, instead of ending the turn. True if
    it has answered some of it. An interrupt meanwhile is raised where the cell waits, which is `task`."""
    if not door.job["cell"].get("is_heard"):
        return False
    reply, is_interrupted = b"[]", False
    try:
        _show_output()
        reply = door.ask(_ASKS_SOON + _round(loop))
        for _ in range(SIGNAL_CHECKS):  # an interrupt is raised here, and not in the loop
            _now()
    except KeyboardInterrupt:
        is_interrupted = True
    answers: list[dict[str, Any]] = json.loads(reply)
    if is_interrupted:
        answers = _interrupted(answers, loop, task)
    settle(answers, task)
    return bool(answers)


def _interrupted(
    answers: list[dict[str, Any]], loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any] | None
) -> list[dict[str, Any]]:
    """These answers with an interrupt: in the place of the one that the cell waits for, or beside them."""
    asked = [number for number, request in _pending.items() if _is_open(request, loop)]
    awaited = (n for n in asked if _waits(task, {id(_pending[n].future)}, set()))
    answered = {answer["number"] for answer in answers}
    others = (number for number in asked if number not in answered)
    at = next(awaited, None) or next(others, asked[0])
    rest = [answer for answer in answers if answer["number"] != at]
    return [*rest, {"number": at, "interrupt": True}]


def is_asked(loop: asyncio.AbstractEventLoop) -> bool:
    """True if something in this loop waits for an answer."""
    return any(_is_open(request, loop) for request in _pending.values())


def _is_open(request: _Request, loop: asyncio.AbstractEventLoop) -> bool:
    """True if it can be asked now. A tool that only an earlier call had declared waits for one that
    declares it again."""
    if request.future.done() or request.future.get_loop() is not loop:
        return False
    return request.tool is None or request.tool in names


def is_all(loop: asyncio.AbstractEventLoop) -> bool:
    """True if every task of the loop waits for an answer, and none for a connection or a timer."""
    asked = {id(request.future) for request in _pending.values()}
    return all(_waits(task, asked, set()) for task in asyncio.all_tasks(loop))


def _waits(future: Any, asked: set[int], seen: set[int]) -> bool:
    while future is not None and id(future) not in seen:
        if id(future) in asked:
            return True
        seen.add(id(future))
        children = getattr(future, "_children", None)  # what `asyncio.gather` returns
        if children is not None:
            return any(_waits(child, asked, seen) for child in children if not child.done())
        future = getattr(future, "_fut_waiter", None)
    return False


def round_of(loop: asyncio.AbstractEventLoop) -> bytes:
    """The report of a turn that ends because its loop waits for answers."""
    return _WAITS + _round(loop)


def come_to_rest() -> None:
    """Tells the host that the program sees no interrupt from now on, because its turn ends: one that it has not
    seen meets it where it waits."""
    try:
        door.ask(_RESTS)
    except Exception:  # it has made too many calls, and the end of the turn says so
        pass


def _round(loop: asyncio.AbstractEventLoop) -> bytes:
    parts: list[bytes] = []
    length = 0
    for number, request in _pending.items():
        if not _is_open(request, loop):
            continue
        part = b'{"number":%d,%b}' % (number, request.content)
        length += len(part) + 1
        if parts and (len(parts) >= ROUND_MAX or length > ROUND_BYTES_MAX):
            break
        parts.append(part)
    return b"[%b]" % b",".join(parts)


def settle(
    answers: Iterable[dict[str, Any]], task: asyncio.Task[Any] | None = None
) -> None:
    """Gives these answers to what waits for them. An interrupt in their place is raised once: where
    `task` waits, which is the cell, or else in one of the other tasks."""
    interrupted: list[asyncio.Future[Any]] = []
    for answer in answers:
        request = _pending.get(answer["number"])
        if request is None or request.future.done():
            continue
        if answer.get("interrupt"):
            interrupted.append(request.future)
            continue
        error = answer.get("error")
        if error is None:
            request.future.set_result(_checked(request.tool, answer.get("output")))
        else:
            request.future.set_exception(_failure(request.tool, error))
    if interrupted:
        awaited = (future for future in interrupted if _waits(task, {id(future)}, set()))
        next(awaited, interrupted[0]).set_exception(KeyboardInterrupt())


def _failure(tool: str | None, error: str) -> Exception:
    return EOFError(error) if tool is None else ToolError(error, tool)


def _checked(tool: str | None, output: Any) -> Any:
    """The output; for a line of text always a text."""
    if tool is not None or isinstance(output, str):
        return output
    return "" if output is None else json.dumps(output)


_AWAITED = "__awaited_input__"


def install(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """Lets cells ask their caller, whose event loop is that of `loop`."""
    global _loop, _input_of_runs
    _loop = loop
    library.ask_hidden = _ask_hidden
    setattr(builtins, _AWAITED, _awaited_input)
    if builtins.input is not _input:
        _input_of_runs, builtins.input = builtins.input, _input


def with_awaited_input(tree: ast.Module) -> ast.Module:
    """Lets the calls of `input` and `getpass` outside of functions be awaited."""
    return _AwaitInput().visit(tree)  # type: ignore[no-any-return]


class _AwaitInput(ast.NodeTransformer):
    """Replaces `input(x)` by `await __awaited_input__(input, x)`, where an `await` can stand, and calls of
    `getpass` likewise."""

    def _leave(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _leave
    visit_Lambda = visit_GeneratorExp = _leave

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not _may_ask(node.func):
            return node
        function = ast.copy_location(ast.Name(_AWAITED, ast.Load()), node.func)
        call = ast.Call(function, [node.func, *node.args], node.keywords)
        return ast.copy_location(ast.Await(ast.copy_location(call, node)), node)


def _may_ask(function: ast.expr) -> bool:
    """True for the names `input`, `getpass` and `getpass.getpass`."""
    if isinstance(function, ast.Attribute) and function.attr == "getpass":
        function = function.value
        return isinstance(function, ast.Name) and function.id == "getpass"
    return isinstance(function, ast.Name) and function.id in ("input", "getpass")


_input_of_runs: Callable[..., str] = builtins.input


def _input(prompt: object = "", /) -> str:
    """The `input` of cells: asks the caller, unless the program has a stream of its own."""
    if sys.stdin is not sys.__stdin__:
        return _input_of_runs(prompt)
    return ask_input_now(prompt)


async def _awaited_input(function: Any, /, *args: Any, **named: Any) -> Any:
    """Calls `input` or `getpass` in a cell, where it can be awaited."""
    if function is library.getpass:
        return await ask_input(_prompt_of(*args, **named), hidden=True)
    if function is not _input or sys.stdin is not sys.__stdin__ or named or len(args) > 1:
        return function(*args, **named)
    return await ask_input(*args)


def _prompt_of(prompt: str = "Password: ", stream: Any = None, **options: Any) -> str:
    """The prompt among the arguments of `getpass`."""
    return prompt


def forget() -> None:
    """Forgets tools and requests; for rehearsals and tests."""
    global _count, _loop
    names.clear()
    _pending.clear()
    _count, _loop = 0, None
    library.ask_hidden = None
    vars(builtins).pop(_AWAITED, None)
    builtins.input = _input_of_runs
