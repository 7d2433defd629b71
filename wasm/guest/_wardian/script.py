"""Runs source text as a module: as a script, or for its `main`.

A call without an entrypoint and without arguments runs a script: the module is `__main__`, and its
guarded code runs. If the code calls `main` itself in any way, `main` is not called again, and its
value is the result. If the code defines `main` and does not call it, the caller of this module
calls it. Without a `main`, the result is the value of the last statement if that is an expression,
as in a notebook.

A call with an entrypoint or with arguments calls that function: guarded code does not run, and
calls of the function at the end of the module are left out, since the function will be called with
the arguments.
"""

from __future__ import annotations

import __future__

import ast
import asyncio
import builtins
import re
import sys
import warnings
from collections.abc import Awaitable, Coroutine, Generator, Mapping
from types import CodeType, ModuleType
from typing import Any

from _wardian import advice, event_loop, places, tables

_modules = sys.modules
_compile, _exec, _eval = compile, exec, eval
FUTURES = sum(
    getattr(__future__, name).compiler_flag for name in __future__.all_feature_names
) & ~0xF
AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
COROUTINE = 0x80

_FENCE = re.compile(
    r"\A\s*(```+|~~~+)[ \t]*[A-Za-z0-9_+.-]*[ \t]*\r?\n(.*?)\n?[ \t]*\1\s*\Z", re.S
)


class Ended:
    """The result of running a module."""

    __slots__ = ("has_run", "is_last", "namespace", "value")

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.has_run = False
        self.is_last = False  # True if `value` is the one of the last expression
        self.value: Any = None


def cleaned(source: str) -> str:
    """The program in `source`, without a byte order mark and a Markdown fence around it.

    Lines keep their numbers, so that tracebacks fit the caller's text.
    """
    if source.startswith("\ufeff"):
        source = source[1:]
    if "```" in source or "~~~" in source:
        fence = _FENCE.match(source)
        if fence is not None and fence[1] not in fence[2]:
            return "\n" * source[: fence.start(2)].count("\n") + fence[2] + "\n"
    return source


class _Prepared:
    """A module that is about to run."""

    __slots__ = ("args", "calls", "code", "ended", "is_called", "last")

    def __init__(
        self, source: str, file_name: str, entrypoint: str | None, args: dict[str, Any]
    ) -> None:
        is_called = entrypoint is not None or bool(args)
        name = entrypoint or "main"
        code = _compiled(source, file_name)
        functions = _functions(code, name)
        if not functions and name not in code.co_names:
            # Without such a function the code is a script, also with arguments; it has them as `args`.
            is_called = entrypoint is not None
        last = None
        if is_called:
            if name in code.co_names and functions:
                code = _without_own_calls(source, file_name, name) or code
                functions = _functions(code, name)
        elif not functions:
            code, last = _split(source, file_name, code)

        module = ModuleType("main" if is_called else "__main__")
        namespace = module.__dict__
        namespace["__builtins__"] = builtins
        namespace["__file__"] = f"{places.WORKSPACE}/{file_name}"
        if not is_called:
            namespace["args"] = args
        _modules["__main__"] = _modules[module.__name__] = module
        sys.argv = [file_name]
        self.args, self.is_called = args, is_called
        self.code, self.last = code, last
        self.ended = Ended(namespace)
        # The module may call a function other than `main` for other purposes.
        self.calls = _Calls(functions if name == "main" else [])

    def await_run(self, source: str, file_name: str) -> None:
        """Makes an only `asyncio.run(...)` outside of functions an `await`, which can wait for the caller
        without a worker. A loop that runs in another one is not possible, so there may be no second."""
        flags = AWAIT | (self.code.co_flags & FUTURES)
        tree = _compile(source, file_name, "exec", ast.PyCF_ONLY_AST | flags, True)
        transformer = _AwaitRun()
        tree = transformer.visit(tree)
        if not transformer.is_done:
            return
        last = None
        with warnings.catch_warnings(action="ignore"):  # the source has given its warnings
            if self.last is not None:
                last = ast.Expression(tree.body.pop().value)
                self.last = _compile(last, file_name, "eval", flags, True)
            self.code = _compile(tree, file_name, "exec", flags, True)

    def together(self) -> Coroutine[Any, Any, Any] | None:
        """The code and its last expression in one loop, if one of them awaits: the expression may await
        tasks of the code. `None` otherwise."""
        if self.last is None or not (self.code.co_flags | self.last.co_flags) & COROUTINE:
            return None
        return _together(self.code, self.last, self.ended.namespace)

    def note_value(self, value: Any) -> None:
        self.ended.value = value
        self.ended.has_run = self.ended.is_last = True

    def note_exit(self, stop: SystemExit) -> None:
        """Takes an exit for the end of a script that has not failed.

        Raises:
            SystemExit: It is another one.
        """
        if self.is_called or not _is_success(stop.code, self.calls):
            raise stop
        self.ended.has_run = True

    def end(self) -> Ended:
        if self.calls.count and not self.args:
            self.ended.has_run = True
            self.ended.value = self.calls.value
        return self.ended


def run(source: str, file_name: str, entrypoint: str | None, args: dict[str, Any]) -> Ended:
    """Runs the module; afterwards its entrypoint may still have to be called.

    Raises:
        BaseException: The exception that the code raised.
    """
    module = _Prepared(source, file_name, entrypoint, args)
    namespace = module.ended.namespace
    try:
        with module.calls:
            together = module.together()
            if together is not None:
                module.note_value(event_loop.run(together))
            else:
                _perform(module.code, namespace)
                if module.last is not None:
                    module.note_value(_perform(module.last, namespace))
    except SystemExit as stop:
        module.note_exit(stop)
    return module.end()


def steps(
    source: str,
    file_name: str,
    entrypoint: str | None,
    args: dict[str, Any],
    given: Mapping[str, Any],
) -> Generator[Awaitable[Any], Any, Ended]:
    """As `run`, but yields what is to be awaited. The module begins with the names in `given`.

    Raises:
        BaseException: The exception that the code raised.
    """
    module = _Prepared(source, file_name, entrypoint, args)
    if not module.is_called and source.count("asyncio.run(") == 1 and "run_until" not in source:
        module.await_run(source, file_name)
    namespace = module.ended.namespace
    namespace.update(given)
    namespace[_AWAITED] = _awaited_run
    try:
        with module.calls:
            together = module.together()
            if together is not None:
                module.note_value((yield together))
            else:
                yield from _stepped(module.code, namespace)
                if module.last is not None:
                    module.note_value((yield from _stepped(module.last, namespace)))
    except SystemExit as stop:
        module.note_exit(stop)
    return module.end()


def _stepped(
    code: CodeType, namespace: dict[str, Any]
) -> Generator[Awaitable[Any], Any, Any]:
    value = _eval(code, namespace)
    return (yield value) if code.co_flags & COROUTINE else value


_AWAITED = "__awaited_run__"
_run = asyncio.run


class _AwaitRun(ast.NodeTransformer):
    """Replaces `asyncio.run(x)` by `await __awaited_run__(asyncio.run, x)` outside of functions."""

    def __init__(self) -> None:
        self.is_done = False

    def _leave(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _leave
    visit_Lambda = visit_GeneratorExp = _leave

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if ast.unparse(node.func) != "asyncio.run" or len(node.args) != 1 or node.keywords:
            return node
        if isinstance(node.args[0], ast.Starred):
            return node
        self.is_done = True
        function = ast.copy_location(ast.Name(_AWAITED, ast.Load()), node.func)
        call = ast.copy_location(ast.Call(function, [node.func, *node.args], []), node)
        return ast.copy_location(ast.Await(call), node)


async def _awaited_run(function: Any, awaitable: Any) -> Any:
    """Awaits what `asyncio.run` is called with. Its other tasks end with it."""
    if function is not _run:
        return function(awaitable)
    before = asyncio.all_tasks()
    try:
        return await awaitable
    finally:
        others = asyncio.all_tasks() - before
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


def _functions(code: CodeType, name: str) -> list[CodeType]:
    """The functions of this name that a module defines."""
    return [
        const for const in code.co_consts if type(const) is CodeType and const.co_name == name
    ]


def _is_success(status: object, calls: _Calls) -> bool:
    """True if a script that ends with this status has not failed."""
    if status is None or (isinstance(status, int) and status == 0):
        return True
    return bool(calls.count) and status is calls.value and not isinstance(status, (int, str))


def _compiled(source: str, file_name: str) -> CodeType:
    try:
        return _compile(source, file_name, "exec", 0, True)
    except SyntaxError as error:
        # The same words for `await`, others for `async with`, `async for` and comprehensions.
        if "outside" in str(error.msg) and ("await" in source or "async" in source):
            try:
                return _compile(source, file_name, "exec", AWAIT, True)
            except SyntaxError:
                pass
        advice.explain_syntax(error, source)
        raise


async def _together(code: CodeType, last: CodeType, namespace: dict[str, Any]) -> Any:
    value = _eval(code, namespace)
    if code.co_flags & COROUTINE:
        await value
    value = _eval(last, namespace)
    return await value if last.co_flags & COROUTINE else value


def _perform(code: CodeType, namespace: dict[str, Any]) -> Any:
    """Runs code, and awaits it if it awaits something itself."""
    value = _eval(code, namespace)
    if code.co_flags & COROUTINE:
        return event_loop.run(value)
    return value


def _split(source: str, file_name: str, whole: CodeType) -> tuple[CodeType, CodeType | None]:
    """Splits off the last statement if it is an expression. Returns the code of both parts."""
    flags = AWAIT | (whole.co_flags & FUTURES)
    tree = _compile(source, file_name, "exec", ast.PyCF_ONLY_AST | flags, True)
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        return whole, None
    expression = tree.body[-1].value
    if isinstance(expression, ast.Constant) and (
        expression.value is ... or len(tree.body) == 1 and isinstance(expression.value, str)
    ):
        return whole, None
    if source.rstrip().endswith(";"):
        return whole, None  # as in a notebook, a semicolon suppresses the value
    del tree.body[-1]
    with warnings.catch_warnings(action="ignore"):  # the whole has given its warnings
        return (
            _compile(tree, file_name, "exec", flags, True),
            _compile(ast.Expression(expression), file_name, "eval", flags, True),
        )


def _without_own_calls(source: str, file_name: str, name: str) -> CodeType | None:
    """The code without the calls of `name` at the end, or None if there are none."""
    try:
        tree = _compile(source, file_name, "exec", ast.PyCF_ONLY_AST, True)
    except SyntaxError:
        return None
    left_out = False
    while tree.body and _is_own_call(tree.body[-1], name):
        del tree.body[-1]
        left_out = True
    if not left_out:
        return None
    with warnings.catch_warnings(action="ignore"):  # the whole has given its warnings
        return _compile(tree, file_name, "exec", 0, True)


_WRAPPERS = {"print", "sys.exit", "exit", "quit", "asyncio.run", "pprint", "json.dumps"}


def _is_own_call(statement: ast.stmt, name: str) -> bool:
    """True for `main()`, `print(main(…))`, `sys.exit(asyncio.run(main()))` and their like."""
    if isinstance(statement, (ast.Expr, ast.Assign)):
        value: ast.AST | None = statement.value
        while isinstance(value, ast.Call):
            called = ast.unparse(value.func)
            if called == name:
                return True
            if called not in _WRAPPERS and not called.endswith(".run_until_complete"):
                return False
            value = value.args[0] if value.args else None
    return False


class _Calls:
    """Observes all calls of a module's functions."""

    def __init__(self, functions: list[CodeType]) -> None:
        self.functions = functions
        self.count = 0
        self.value: Any = None

    def _begins(self, code: CodeType, offset: int) -> None:
        self.count += 1
        self.value = None

    def _returns(self, code: CodeType, offset: int, value: object) -> None:
        self.value = value

    def __enter__(self) -> None:
        if self.functions:
            _watch(self)

    def __exit__(self, *error: object) -> None:
        if self.functions:
            _unwatch(self)


_TOOL = 4  # not reserved by Python

if hasattr(sys, "monitoring"):
    _monitoring = sys.monitoring
    _START, _RETURN = _monitoring.events.PY_START, _monitoring.events.PY_RETURN

    def _watch(calls: _Calls) -> None:
        _monitoring.use_tool_id(_TOOL, "wardian")
        _monitoring.register_callback(_TOOL, _START, calls._begins)
        _monitoring.register_callback(_TOOL, _RETURN, calls._returns)
        for function in calls.functions:
            _monitoring.set_local_events(_TOOL, function, _START | _RETURN)

    def _unwatch(calls: _Calls) -> None:
        if _monitoring.get_tool(_TOOL) == "wardian":
            for function in calls.functions:
                _monitoring.set_local_events(_TOOL, function, 0)
            for event in (_START, _RETURN):
                _monitoring.register_callback(_TOOL, event, None)
            _monitoring.free_tool_id(_TOOL)

else:  # Python before 3.12: only tests outside of the sandbox run with it

    def _watch(calls: _Calls) -> None:
        def notice(frame: Any, event: str, value: object) -> None:
            if frame.f_code in calls.functions:
                if event == "call" and frame.f_lasti < 16:
                    calls._begins(frame.f_code, 0)
                elif event == "return":
                    calls._returns(frame.f_code, 0, value)

        sys.setprofile(notice)

    def _unwatch(calls: _Calls) -> None:
        sys.setprofile(None)


_TABLE_MAX = 20_000
"""Most characters of a table that is shown. pandas itself abridges tables, unless it is told not to."""


def show_table(value: Any) -> None:
    """Prints a table of pandas as a notebook shows it: its records are read by programs."""
    if not tables.is_table(value):
        return
    try:
        text = str.__str__(repr(value))
    except MemoryError:
        raise
    except Exception:
        return
    if len(text) > _TABLE_MAX:
        text = f"{text[:_TABLE_MAX]}\n… {len(text) - _TABLE_MAX:,} characters more"
    print(text)


def lacks_main(namespace: Mapping[str, Any]) -> bool:
    """True if the module has no `main` to call by default."""
    return not callable(namespace.get("main"))
