"""Runs a program in this interpreter, with a module `tools` that calls functions directly."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import sys
from collections.abc import Callable, Generator, Mapping
from types import CodeType, ModuleType
from typing import Any

Functions = Mapping[str, Callable[..., Any]]


class ToolError(Exception):
    """What a function has raised."""

    def __init__(self, message: str, tool: str | None = None) -> None:
        super().__init__(message)
        self.message, self.tool = message, tool


class Ended:
    """What came of a program."""

    def __init__(self) -> None:
        self.value: Any = None
        self.error: tuple[str, str] | None = None
        self.printed = ""
        self.blobs: dict[str, str] = {}


def run(code: str, args: Mapping[str, Any], functions: Functions) -> Ended:
    """Runs a program to its end: its value is that of `main` or of its last expression."""
    ended = Ended()
    printed = io.StringIO()
    tree = ast.parse(code)
    last: ast.expr | None = None
    if tree.body and isinstance(final := tree.body[-1], ast.Expr):
        tree.body.pop()
        last = final.value
    names: dict[str, Any] = {"__name__": "__main__"}
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    with modules(functions, ended), contextlib.redirect_stdout(printed), asyncio.Runner() as runner:

        def evaluated(compiled: CodeType) -> Any:
            value = eval(compiled, names)
            return runner.run(value) if compiled.co_flags & inspect.CO_COROUTINE else value

        try:
            evaluated(compile(tree, "main.py", "exec", flags=flags))
            if last is not None:
                ended.value = evaluated(compile(ast.Expression(last), "main.py", "eval", flags=flags))
            elif "main" in names and "asyncio.run" not in code:
                ended.value = called(names["main"], args, runner)
        except SystemExit:
            pass
        except Exception as error:
            ended.error = (type(error).__name__, str(error))
    ended.printed = printed.getvalue()
    return ended


def called(main: Callable[..., Any], args: Mapping[str, Any], runner: asyncio.Runner) -> Any:
    """The value of `main`, whose only parameter has all arguments, or which has one for each."""
    is_whole = len(inspect.signature(main).parameters) == 1
    value = main(dict(args)) if is_whole else main(**args)
    return runner.run(value) if inspect.iscoroutine(value) else value


@contextlib.contextmanager
def modules(functions: Functions, ended: Ended) -> Generator[None]:
    """Has the modules `tools` and `runtime` for a while."""
    root = ModuleType("tools")
    made: dict[str, ModuleType] = {"tools": root}
    tools = {name: tool(name, function) for name, function in functions.items()}
    for name, one in tools.items():
        place = root
        *spaces, last = name.replace("-", "_").split(".")
        for space in spaces:
            path = f"{place.__name__}.{space}"
            inner = made.setdefault(path, ModuleType(path))
            setattr(place, space, inner)
            place = inner
        setattr(place, last, one)

    def found(prefix: str = "") -> list[dict[str, str]]:
        return [{"name": name} for name in functions if name.startswith(prefix)]

    def search(query: str) -> list[dict[str, str]]:
        words = query.split()
        return sorted(found(), key=lambda one: -sum(word in one["name"] for word in words))

    async def call(name: str, arguments: dict[str, Any]) -> Any:
        return await tools[name](**arguments)

    def write_text(text: str, kind: str) -> str:
        blob = f"blob {len(ended.blobs)} of {kind}"
        ended.blobs[blob] = text
        return blob

    attributes = {"ToolError": ToolError, "list": found, "search": search, "call": call}
    for name, value in attributes.items():
        setattr(root, name, value)
    runtime, blobs = ModuleType("runtime"), ModuleType("runtime.blobs")
    for module, name, value in ((runtime, "blobs", blobs), (blobs, "write_text", write_text)):
        setattr(module, name, value)
    made |= {"runtime": runtime, "runtime.blobs": blobs}
    before = {name: sys.modules.get(name) for name in made}
    sys.modules.update(made)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def tool(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as a program has it: a coroutine function with `sync`."""
    signature = inspect.signature(function)

    def sync(*unnamed: Any, **named: Any) -> Any:
        try:
            return function(**signature.bind(*unnamed, **named).arguments)
        except Exception as error:
            raise ToolError(f"{type(error).__name__}: {error}", name) from error

    async def waiting(*unnamed: Any, **named: Any) -> Any:
        # Other tasks take their turn first, as where a tool is somewhere else.
        try:
            return sync(*unnamed, **named)
        finally:
            await asyncio.sleep(0)

    setattr(waiting, "sync", sync)
    return waiting
