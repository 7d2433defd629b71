"""Runs the cells of a session: source texts that share one `__main__`, as in a notebook.

What a cell leaves stays: names, modules, files, tasks, threads that wait, and the exception that
ended it as `sys.last_exc`. Between two cells the host may copy the memory, and go on with a copy
elsewhere; so nothing is kept here that a program could not know of, and connections are closed.

A cell may wait for its caller: see `asking`. Then its turn ends, and the next one goes on with it.

The value of a cell is that of its last expression. `main` is not called. Of values that have a richer
form than text, the host gets that form, too: see `display`.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import contextvars
import linecache
import re
import sys
import time
from collections.abc import Callable, Coroutine
from types import CodeType, ModuleType
from typing import Any

from _wardian import (
    advice,
    asking,
    called_tools,
    conversion,
    display,
    door,
    event_loop,
    failure,
    forks,
    magics,
    notebook,
    runner,
    script,
    signals,
    sockets,
    threads,
    timers,
    trace,
)
from runtime import tools as runtime_tools

SOURCES_MAX = 4 << 20
"""Most characters of the sources of cells that are kept for tracebacks and `In`. Old ones go first."""

_RUNS_A_LOOP = re.compile(r"asyncio\.run\b|run_until_complete\(|Runner\(").search
"""Finds cells that run an event loop of their own. No `await` can be around it, so an `input` of such a cell is
asked in the middle of the call."""

PASSES_MAX = 64
"""Most steps of the event loop at the end of a cell, for tasks that need not wait."""

WAITS = object()
"""In the place of a value: the cell waits for its caller."""

_modules = sys.modules
_now = time.monotonic
_compile, _eval = compile, eval
_lines_of: dict[str, Any] = linecache.cache


class Session:
    """What lasts from cell to cell."""

    def __init__(self) -> None:
        self.module = ModuleType("__main__")
        self.namespace = self.module.__dict__
        self.context = contextvars.copy_context()
        self.features = 0  # flags of the `__future__` imports so far
        self.sources: dict[int, str] = {}
        self.inputs = [""]
        self.number = 0  # of the present cell
        self.values: dict[int, Any] = {}
        self.last: list[Any] = ["", "", ""]
        self.outer: tuple[Any, Any] = (None, None)  # the streams of the process
        self.streams: tuple[Any, Any] | None = None  # those of the program, if it has others
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None  # the cell, if it waits for its caller
        self._timing: magics.Timing | None = None  # of that cell
        self._is_stopped = False  # the loop, because nothing in it could go on
        self.has_displays = True
        self._provide()

    def _provide(self) -> None:
        """Gives the program the names that a notebook has, as far as it has none of its own under them."""
        provided = {
            "__name__": "__main__",
            "__builtins__": builtins,
            "ainput": runtime_tools.input,
            "display": display.display,
            "get_ipython": magics.get_ipython,
            "In": self.inputs,
            "Out": self.values,
            **dict(zip(_LAST, self.last, strict=True)),
        }
        for name, value in provided.items():
            self.namespace.setdefault(name, value)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of the session. A program may have closed the one before."""
        if self._loop is None or self._loop.is_closed():
            self._loop = event_loop.SandboxEventLoop()
        return self._loop

    def enter(self, job: dict[str, Any]) -> None:
        """Makes the process that of the session, as the cell before has left it."""
        _modules["__main__"] = self.module
        self.outer = sys.stdout, sys.stderr
        if self.streams is not None:
            sys.stdout, sys.stderr = self.streams
        event_loop.provide_loop(self.loop)
        if job["cell"].get("answers") is None:
            self._provide()  # the program may have deleted some
        if job["args"] or "args" not in self.namespace:
            self.namespace["args"] = job["args"]
        declared = job["cell"].get("tools")
        if declared is not None or "answers" not in job["cell"]:
            called_tools.declare(declared or ())
        if declared:
            self.namespace.setdefault("tools", called_tools.root)

    def note_source(self, number: int, source: str) -> str:
        """Keeps the source of a cell, and returns the name of its file in tracebacks."""
        self.sources[number] = source
        while len(self.inputs) <= number:
            self.inputs.append("")
        self.inputs[number] = source
        _show_lines(number, source)
        while sum(map(len, self.sources.values())) > SOURCES_MAX and len(self.sources) > 1:
            oldest = next(iter(self.sources))
            del self.sources[oldest]
            self.inputs[oldest] = ""
            _lines_of.pop(_file_name(oldest), None)
        return _file_name(number)

    def restore_lines(self) -> None:
        """Lets a traceback show the lines of all cells, if the program has cleared their cache."""
        for number, source in self.sources.items():
            if _file_name(number) not in _lines_of:
                _show_lines(number, source)

    def note_value(self, number: int, value: Any) -> None:
        """Keeps a value in `Out`, and makes it `_` unless the program uses these names for something else."""
        self.values[number] = value
        while len(self.values) > len(_LAST):
            del self.values[next(iter(self.values))]
        namespace = self.namespace
        before = dict(zip(_LAST, self.last, strict=True))
        if any(namespace.get(name, value) is not value for name, value in before.items()):
            return
        self.last = [value, *self.last[:-1]]
        namespace.update(zip(_LAST, self.last, strict=True))

    def run(self, source: str, name: str) -> Any:
        """Runs the source of a cell, and returns the value of its last expression, or `WAITS`.

        Raises:
            BaseException: The exception that the cell raised.
        """
        tree, source, is_timed = self._parsed(source, name)
        if ("input" in source or "getpass" in source) and not _RUNS_A_LOOP(source):
            tree = asking.with_awaited_input(tree)
        code, last = self._compiled(tree, source, name)
        is_awaited = any(
            part.co_flags & script.COROUTINE for part in (code, last) if part is not None
        )
        self._timing = magics.Timing() if is_timed else None
        if is_awaited:
            coroutine = _awaited(code, last, self.namespace)
            self._task = self.loop.create_task(coroutine, context=self.context)
            return self.go_on()
        try:
            return self.context.run(_evaluated, code, last, self.namespace)
        finally:
            self._end()

    def _parsed(self, source: str, name: str) -> tuple[ast.Module, str, bool]:
        """The syntax tree, the source without magics, and whether the cell begins with `%%time`."""
        source = _without_indent(source)
        flags = ast.PyCF_ONLY_AST | script.AWAIT | self.features
        try:
            return _compile(source, name, "exec", flags, True), source, False
        except SyntaxError as error:
            translated = magics.translated(source)
            if translated is None:
                advice.explain_syntax(error, source)
                raise
        python = translated.source
        try:
            return _compile(python, name, "exec", flags, True), python, translated.is_timed
        except SyntaxError as error:
            advice.explain_syntax(error, python)
            raise

    def _compiled(
        self, tree: ast.Module, source: str, name: str
    ) -> tuple[CodeType, CodeType | None]:
        """The code of a cell, and that of its last expression if that has a value."""
        expression = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = tree.body[-1]
            if not _is_suppressed(last, source):
                expression = ast.Expression(last.value)
                del tree.body[-1]
        flags = script.AWAIT | self.features
        code = _compile(tree, name, "exec", flags, True)
        self.features |= code.co_flags & script.FUTURES
        if expression is None:
            return code, None
        return code, _compile(expression, name, "eval", script.AWAIT | self.features, True)

    def go_on(self) -> Any:
        """Runs the event loop until the cell is through, or waits for its caller: then this is called
        once more, after `asking.settle`. Other tasks stay as they are.

        Raises:
            BaseException: The exception that the cell raised.
        """
        loop: Any = self.loop
        task = self._task
        if task is None:
            raise RuntimeError("no cell waits for its caller")
        try:
            self._is_stopped = True
            while self._is_stopped and not task.done():
                self._is_stopped = False
                if not loop.run_until_idle(task, self._rest) and asking.is_asked(loop):
                    return WAITS
                # If the loop was stopped all the same, a timer has given up what was asked.
            self._end()
            if not task.done():
                raise RuntimeError("Event loop stopped before Future completed.")
            return task.result()
        except BaseException:
            self._end()
            try:
                if not task.done():
                    task.cancel()
                    self.let_tasks_run()
            finally:
                if task.done() and not task.cancelled():
                    task.exception()  # it is reported
            raise

    def report_of(self, job: dict[str, Any]) -> bytes:
        """Runs the cell, or goes on with it, and returns the report of its value or of its requests."""
        answers = job["cell"].get("answers")
        # A reproducible guest is told no number: its state must not depend on cells that left no trace.
        self.number = number = job["cell"]["number"] or self.number + (answers is None)
        try:
            if answers is None:
                source = _source_of(job)
                value = self.run(source, self.note_source(number, source))
            else:
                asking.settle(answers, self._task)
                value = self.go_on()
        except SystemExit as stop:  # it ends the cell, not the session
            if stop.code is not None and (not isinstance(stop.code, int) or stop.code != 0):
                raise
            value = None
        if value is WAITS:
            timers.end()
            report = asking.round_of(self.loop)
            asking.come_to_rest()
            return report
        if value is not None:
            self.note_value(number, value)
        threads.settle()
        self.let_tasks_run()
        timers.end()
        display.show_value(value, job["cell"].get("shows_value", False))
        display.show_open_figures()
        return conversion.shown(value, job["strict_output"])

    def _rest(self, has_connections: bool) -> float | None:
        """How long the loop may wait for connections and timers. Stops it if a cell waits for its caller,
        and for nothing else that could go on meanwhile: timers go on afterwards."""
        loop: Any = self.loop
        if not asking.is_asked(loop):
            return None
        if has_connections and not asking.is_all(loop):
            rest: float = loop._selector.last_event + asking.QUIET_MAX - _now()
            if rest > 0:
                return rest
        if not asking.is_answered_soon(loop, self._task):
            self._is_stopped = True
            loop.stop()
        return 0.0

    def _end(self) -> None:
        """Notes that the cell is through, and shows its times if it has asked for them."""
        timing, self._task, self._timing = self._timing, None, None
        if timing is not None:
            timing.show()

    def let_tasks_run(self) -> None:
        """Lets tasks go on that need not wait. What they raise is told by the loop.

        An interrupt meets the task that runs, and is the cell's: its time is over, or its caller's patience.
        """
        loop: Any = self._loop
        if loop is None or loop.is_closed():
            return
        for _ in range(PASSES_MAX):
            if not loop._ready:
                return
            stop = loop.call_soon(loop.stop)
            try:
                loop.run_forever()
            except KeyboardInterrupt:
                stop.cancel()
                raise
            except BaseException:
                stop.cancel()

    def leave(self) -> None:
        """Ends what does not last: connections, and the streams as the host knows them."""
        try:
            sockets.end_connections()
        except BaseException:
            pass
        present, outer = (sys.stdout, sys.stderr), self.outer
        self.streams = None if present[0] is outer[0] and present[1] is outer[1] else present
        for stream in (*present, *outer):
            try:
                if stream is not None:
                    stream.flush()
            except BaseException:
                pass
        sys.stdout, sys.stderr = outer  # the interpreter flushes these once more


_LAST = ("_", "__", "___")
_LAST_EXCEPTION = ("last_exc", "last_type", "last_value", "last_traceback")

_session: Session | None = None


def _file_name(number: int) -> str:
    return f"<cell {number}>"


def _show_lines(number: int, source: str) -> None:
    """Lets tracebacks show the lines of a cell, also in functions that it defines."""
    lines = [f"{line}\n" for line in source.split("\n")]
    name = _file_name(number)
    _lines_of[name] = (len(source), None, lines, name)


def _without_indent(source: str) -> str:
    """The source without the indent of its first line, as far as its lines have that, as IPython takes it."""
    begun = source.lstrip()
    first = source[: len(source) - len(begun)].rpartition("\n")[2]
    if not first or not begun:
        return source
    return "\n".join(line.removeprefix(first) for line in source.split("\n"))


def _is_suppressed(statement: ast.Expr, source: str) -> bool:
    """True for an expression with a semicolon behind it."""
    line = source.split("\n")[(statement.end_lineno or 1) - 1]
    rest = line.encode()[statement.end_col_offset or 0 :]
    return rest.lstrip(b" \t").startswith(b";")


def _evaluated(code: CodeType, last: CodeType | None, namespace: dict[str, Any]) -> Any:
    _eval(code, namespace)
    return None if last is None else _eval(last, namespace)


async def _awaited(code: CodeType, last: CodeType | None, namespace: dict[str, Any]) -> Any:
    value = _eval(code, namespace)
    if code.co_flags & script.COROUTINE:
        await value
    if last is None:
        return None
    value = _eval(last, namespace)
    return await value if last.co_flags & script.COROUTINE else value


def run(job: dict[str, Any]) -> None:
    """Runs a cell, and reports how it ended.

    The host may interrupt it at any instruction, so nothing but the program may be interruptible.
    """
    global _session
    report = b""
    try:
        signals.hold_interrupts()
        failure.refill()
        display.begin()
        if _session is None:
            _session = _begun(job)
        _session.enter(job)
        if job["cell"]["reseed"]:
            forks.become_child(job["seed"])
            door.ask(door.CELL + b"\2")
        signals.allow_interrupts()
        report = _session.report_of(job)
        signals.hold_interrupts()
    except BaseException as exception:
        while True:
            try:
                signals.hold_interrupts()
                break
            except BaseException:  # one more interruption
                pass
        report = _failed(exception)
    if _session is not None:
        _session.leave()
    runner.send(report)


def _begun(job: dict[str, Any]) -> Session:
    """The session of the first cell."""
    runner.prepare(job)
    sys.argv = [""]
    session = new_program() if job["cell"].get("program") else Session()
    _install_quit()
    asking.install(lambda: session.loop)
    if session.has_displays:
        event_loop.lend_loop(lambda: session.loop)
        display.install()
        notebook.install()
    return session


_quit_of_runs: Callable[..., None] | None = None


def _install_quit() -> None:
    """Lets `exit` and `quit` in cells leave standard input open for the next one."""
    global _quit_of_runs
    quitter: Any = type(getattr(builtins, "exit", None))
    if _quit_of_runs is None and quitter.__name__ == "Quitter":
        _quit_of_runs, quitter.__call__ = quitter.__call__, _quit


def _quit(quitter: object, code: object = None) -> None:
    """`exit` and `quit`. Outside of cells they close standard input, as Python does."""
    if _quit_of_runs is not None and not door.job.get("cell"):
        _quit_of_runs(quitter, code)
    raise SystemExit(code)


def _no_programs() -> Session:
    raise RuntimeError("there are no programs that wait in this image")


new_program: Callable[[], Session] = _no_programs
"""The session of a whole program, which `whole_programs` provides."""


def _source_of(job: dict[str, Any]) -> str:
    code = job["program"].get("code")
    if code is None:
        raise failure.EntrypointNotFound("a cell is source text, and never a skill")
    return script.cleaned(code["source"])


def _failed(exception: BaseException) -> bytes:
    """Keeps the exception as an interactive interpreter does, and returns the report of it."""
    runner.end_timer()
    _forget_exception()
    sys.last_exc = exception  # type: ignore[attr-defined]
    sys.last_type, sys.last_value = type(exception), exception
    if _session is not None:
        _session.restore_lines()
    report = failure.raised(exception)
    sys.last_traceback = exception.__traceback__
    trace.release()
    others: tuple[Callable[[], object], ...] = (threads.settle, _let_tasks_run)
    if isinstance(exception, KeyboardInterrupt):
        others = ()  # they go on in the next cell
    for finish in (*others, _show_figures_of_failed):
        try:
            finish()
        except BaseException:
            pass
    return report


def _forget_exception() -> None:
    """Lets go of the exception before. Its stack may be deeper than what can be freed at once."""
    last: list[Any] = [getattr(sys, "last_exc", None)]
    for name in _LAST_EXCEPTION:
        if hasattr(sys, name):
            delattr(sys, name)
    if isinstance(last[0], BaseException):
        trace.release_exception(last)


def _let_tasks_run() -> None:
    if _session is not None:
        _session.let_tasks_run()


def _show_figures_of_failed() -> None:
    has_displays = _session is None or _session.has_displays
    if has_displays and not isinstance(sys.last_value, MemoryError):
        display.show_open_figures()


def forget() -> None:
    """Forgets the session; for rehearsals and tests."""
    global _session
    _session = None
    asking.forget()
    called_tools.forget()
    signals.allow_interrupts()
    notebook.remove()
    event_loop.lend_loop(None)
    display.begin()
    _forget_exception()
    for name in [name for name in _lines_of if name.startswith("<cell ")]:
        del _lines_of[name]


runner.run_cell = run
