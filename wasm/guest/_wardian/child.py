"""Python programs as child processes: they run in this interpreter, one after another.

    run_python(["scripts/fill.py", "in.pdf", "out.pdf"], cwd="/workspace") -> exit code

A child has a `__main__`, `sys.argv`, `sys.path`, current folder, environment, standard streams, exit handlers,
threads, signal handlers and random numbers of its own. At its end all of that is the parent's again. Modules of
the library are shared: see `child_modules` and `child_state` for the border.
"""

from __future__ import annotations

import _signal
import builtins
import contextlib
import contextvars
import gc
import importlib.machinery
import io
import linecache
import logging
import os
import pkgutil
import posix
import runpy
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType, TracebackType
from typing import Any

from _wardian import (
    child_modules,
    child_state,
    descriptors,
    interpreter_options,
    open_files,
    packages,
    places,
    signals,
    threads,
    timers,
)
from _wardian.interpreter_options import Command

DEPTH_MAX = 8
"""Most children that run on top of each other."""

_modules = sys.modules
_compile, _exec = compile, exec
_now = time.monotonic
_run_as_main: Any = runpy._run_module_as_main  # type: ignore[attr-defined]
_format_exception = traceback.format_exception
_KILL = 9
_SIGINT = -2
_AGAIN_SECONDS = 0.05
_INSTALLERS = frozenset({"pip", "ensurepip", "uv", "virtualenv", "conda"})


class _Ends(threads.Unwinds):
    """Unwinds a child that ends without being asked: `os._exit`, a signal, a time limit."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class TimedOut(Exception):
    """A child was ended at its time limit."""


class _Clock:
    """The timer while a child runs: that of the parent goes on, and the child may have a limit.

    A child that sets a timer of its own has it for itself; that of the parent goes on afterwards.
    """

    def __init__(self, timeout: float | None) -> None:
        now = _now()
        left, self._interval = timers.rest()
        self._due = now + left if left else None
        self._handler = signals.get_handler(timers.ALARM)
        self._stop = None if timeout is None else now + timeout
        self.is_running = self.is_over = self.has_timed_out = False
        self.raised: BaseException | None = None
        if self._due is not None or self._stop is not None:
            signals.set_handler(timers.ALARM, self._ring)
            self._set()
        elif callable(self._handler):
            signals.set_handler(timers.ALARM, _signal.SIG_DFL)

    def _set(self) -> None:
        due = [time for time in (self._due, self._stop) if time is not None]
        if due:
            timers.set_timer(max(min(due) - _now(), 1e-4), _AGAIN_SECONDS)

    def _ring(self, signalnum: int, frame: Any) -> None:
        """The handler of the timer. It comes again if a child ignores its end, or has not begun."""
        if self.is_over or not self.is_running:
            return
        now = _now()
        if self._stop is not None and now >= self._stop:
            self.has_timed_out = True
            raise _Ends(-_KILL)
        if self._due is not None and now >= self._due:
            if self.raised is None:
                self._due = now + self._interval if self._interval else None
                try:
                    if callable(self._handler):
                        self._handler(signalnum, frame)
                except BaseException as error:
                    self.raised = error
            if self.raised is not None:
                self._due = now
                raise _Ends(-_KILL)
            self._set()

    def stop(self) -> None:
        """Ends the timer of the child, whose state is about to be left."""
        self.is_over = True
        if self._stop is not None and _now() >= self._stop:
            self.has_timed_out = True
        if timers.is_used:
            signals.set_handler(timers.ALARM, self._ring)
            timers.set_timer(0.0, 0.0)

    def end(self) -> None:
        """Lets the timer be the parent's again."""
        signals.set_handler(timers.ALARM, self._handler if self._handler is not None else _signal.SIG_DFL)
        if self._due is not None and self.raised is None:
            timers.set_timer(max(self._due - _now(), 1e-4), self._interval)

    def check(self) -> None:
        """Raises what has ended the child.

        Raises:
            TimedOut: The time was over.
            BaseException: The handler of the parent's timer has raised it.
        """
        if self.raised is not None:
            raise self.raised
        if self.has_timed_out:
            raise TimedOut


@contextlib.contextmanager
def time_limit(timeout: float | None) -> Iterator[None]:
    """Ends what runs within at a time limit.

    Raises:
        TimedOut: The time was over.
    """
    if timeout is None and not timers.rest()[0]:
        yield
        return
    clock = _Clock(timeout)  # also for the parent's timer, whose exception is no failure of what runs
    try:
        clock.is_running = True
        yield
    except _Ends:
        if not clock.has_timed_out and clock.raised is None:
            raise
    finally:
        clock.stop()
        clock.end()
    clock.check()


class _Child:
    """One child, from its start to its end."""

    def __init__(
        self, command: Command, inherits: bool, timeout: float | None, prepare: Callable[[], object] | None
    ) -> None:
        self._command = command
        self._inherits = inherits
        self._timeout = timeout
        self._prepare = prepare
        self._handlers = child_state.ExitHandlers()
        self._put_back: list[Callable[[], object]] = []
        self._interrupted = 0
        self._is_interruptible = False
        self._outer = sys.exc_info()[1]
        self._streams: list[Any] = []
        self._ended: int | None = None
        self._silenced: dict[int, int] = {}

    def run(self, cwd: str | None, environment: Mapping[str, str] | None) -> int:
        """Runs the program and returns its exit code.

        Raises:
            OSError: The folder does not exist.
            TimedOut: The time was over.
            BaseException: The handler of the parent's timer, or of an interruption, has raised it.
        """
        interrupt = signals.get_handler(signals.INTERRUPT)
        self._is_interruptible = callable(interrupt)
        end_before = signals.end_child
        modules: child_modules.Modules | None = None
        clock: _Clock | None = None
        opened: set[int] | None = None
        if self._is_interruptible:  # the program gets what comes until it begins
            signals.set_handler(signals.INTERRUPT, self._note_interrupt)
        try:
            modules = child_modules.Modules()
            opened = descriptors.open_ones()
            clock = _Clock(self._timeout)
            self._enter(environment, opened)
            if cwd is not None:
                os.chdir(cwd)
            signals.end_child = self._end
            code = contextvars.Context().run(self._main, modules, clock)
        except _Ends as end:
            code = end.code
        finally:
            if clock is not None:
                clock.stop()
            signals.end_child = end_before
            if self._is_interruptible:
                signals.set_handler(signals.INTERRUPT, self._note_interrupt)
            self._unsilence()
            self._leave(modules)
            if clock is not None:
                clock.end()
            if opened is not None:
                _close_left(opened)
            signals.set_handler(signals.INTERRUPT, interrupt if interrupt is not None else _signal.SIG_DFL)
        clock.check()
        if self._interrupted and callable(interrupt):
            interrupt(signals.INTERRUPT, None)
        return code

    def _enter(self, environment: Mapping[str, str] | None, opened: set[int]) -> None:
        command = self._command
        for part in (
            child_state.folder,
            child_state.imports,
            child_state.warning_filters,
            child_state.randomness,
            child_state.signal_handlers,
            child_state.locales,
            child_state.log_handlers,
            child_state.thread_list,
            child_state.loops,
            child_state.identity,
            child_state.packages,
            child_state.interpreter,
        ):
            self._put_back.append(part())
        self._put_back.append(child_state.environment(environment))
        self._put_back.append(child_state.exit_handlers(self._handlers))
        self._put_back.append(child_state.other_descriptors(opened))
        variables = {} if command.ignores_environment else os.environ
        encoding, _, errors = variables.get("PYTHONIOENCODING", "").partition(":")
        is_unbuffered = "u" in command.flags or bool(variables.get("PYTHONUNBUFFERED"))
        child_state.standard_streams(encoding or "utf-8", errors or None, is_unbuffered, self._inherits)
        for name in ("last_exc", "last_type", "last_value", "last_traceback"):
            if hasattr(sys, name):
                delattr(sys, name)
        sys.excepthook, sys.displayhook = sys.__excepthook__, sys.__displayhook__
        folders = [folder for folder in variables.get("PYTHONPATH", "").split(":") if folder]
        sys.path[:0] = folders
        texts = [text for text in variables.get("PYTHONWARNINGS", "").split(",") if text]
        sys.warnoptions = [*texts, *command.warnings]
        options: Any = warnings
        options._processoptions(sys.warnoptions)

    def _leave(self, modules: child_modules.Modules | None) -> None:
        for put_back in reversed(self._put_back):
            try:
                put_back()
            except Exception:
                pass  # such as a folder that the child has removed
        if modules is not None:
            modules.put_back()

    def _end(self, code: int) -> None:
        """Ends the program at once. One that catches that keeps its first exit code, and prints no more."""
        if self._ended is None:
            self._ended = code
            self._switch_off()
            for place in (1, 2):
                try:
                    self._silenced[place] = descriptors.duplicate(place)
                except OSError:  # it is closed
                    continue
            nothing = descriptors.nowhere()
            try:
                descriptors.put_in_place(dict.fromkeys(self._silenced, nothing))
            finally:
                descriptors.close(nothing)
        raise _Ends(self._ended)

    def _unsilence(self) -> None:
        """Gives the descriptors back to children of the program, and to its parent."""
        silenced, self._silenced = self._silenced, {}
        try:
            descriptors.put_in_place(silenced)
        finally:
            for number in silenced.values():
                descriptors.close(number)

    def _switch_off(self) -> None:
        for stream in self._streams:
            raw = getattr(getattr(stream, "buffer", None), "raw", None)
            if isinstance(raw, descriptors.Output):
                raw.is_off = True

    def _interrupt(self, signalnum: int, frame: object) -> None:
        """An interruption is the parent's as well as the child's, unless the child has sent it to itself."""
        self._interrupted += not signals.is_raised_here
        raise KeyboardInterrupt

    def _note_interrupt(self, signalnum: int, frame: object) -> None:
        """An interruption that comes while the state of the parent is put back."""
        self._interrupted += 1

    # What follows runs in the state of the child.

    def _main(self, modules: child_modules.Modules, clock: _Clock) -> int:
        self._streams = [sys.stdout, sys.stderr]
        handlers = len(logging._handlerList)  # type: ignore[attr-defined]
        main = ModuleType("__main__")
        names = main.__dict__
        names["__builtins__"] = builtins
        names["__cached__"] = None
        _modules["__main__"] = main
        try:
            clock.is_running = True
            code = self._guarded(lambda: self._execute(names))
            code = self._guarded(threads.finish) or code
            self._guarded(self._handlers.run)
            child_state.close_log_handlers(handlers)
            code = _flush(code)
            for module in modules.own():
                child_modules.clear(module)
            return _flush(code)
        except _Ends as end:
            self._switch_off()
            if not clock.has_timed_out and clock.raised is None:
                self._unsilence()
                threads.finish_children()
            return end.code
        finally:
            self._switch_off()

    def _guarded(self, call: Callable[[], object]) -> int:
        """Calls a part of the program, and returns the exit code that follows from how it ends."""
        code = self._outcome(call)
        if self._ended is not None:  # the program has caught its end
            raise _Ends(self._ended)
        return code

    def _outcome(self, call: Callable[[], object]) -> int:
        try:
            call()
        except SystemExit as stop:
            return _code_of(stop)
        except _Ends:
            raise
        except BaseException as error:
            self._show(error)
            return _SIGINT if isinstance(error, KeyboardInterrupt) else 1
        return 0

    def _show(self, error: BaseException) -> None:
        """Prints an exception that nobody has caught, as the interpreter does."""
        _cut_context(error, self._outer)
        for one in _chain(error):
            one.__traceback__ = _without_own_frames(one.__traceback__)
        trace = error.__traceback__
        sys.last_exc = error
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
        try:
            is_missing = any(isinstance(one, ModuleNotFoundError) for one in _chain(error))
            if is_missing and sys.excepthook is sys.__excepthook__:
                _print_error(error)
            else:
                sys.excepthook(type(error), error, trace)
        except SystemExit:
            raise
        except Exception:
            _print_error(error)
        for name in ("last_exc", "last_type", "last_value", "last_traceback"):
            if hasattr(sys, name):
                delattr(sys, name)

    def _execute(self, names: dict[str, Any]) -> None:
        command = self._command
        if self._is_interruptible:
            signals.set_handler(signals.INTERRUPT, self._interrupt)
            if self._interrupted:
                raise KeyboardInterrupt
        if self._prepare is not None:
            self._prepare()
        sys.argv = list(command.arguments)
        kind = command.kind
        if kind == "module":
            self._add_folder(os.getcwd())
            _run_module(command.value)
        elif kind == "file":
            self._execute_file(names)
        else:
            self._add_folder("")
            is_code = kind == "code"
            file = "<string>" if is_code else "<stdin>"
            source: Any = command.value if is_code else sys.stdin.buffer.read()
            code = _compile(source, file, "exec", 0, True, self._optimization())
            _show_lines(code, source, file)
            names["__loader__"] = importlib.machinery.BuiltinImporter
            _exec(code, names)

    def _optimization(self) -> int:
        return min(self._command.optimization, 2)

    def _add_folder(self, folder: str) -> None:
        if not self._command.is_safe_path:
            sys.path.insert(0, folder)

    def _execute_file(self, names: dict[str, Any]) -> None:
        path = os.path.abspath(self._command.value)
        if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
            sys.path.insert(0, path)
            _run_as_main("__main__", False)
            return
        try:
            with open(path, "rb") as file:
                source = file.read()
        except OSError as error:
            reason = f"[Errno {error.errno}] {error.strerror}"
            sys.stderr.write(f"{sys.executable or 'python3'}: can't open file {path!r}: {reason}\n")
            raise SystemExit(2) from None
        self._add_folder(os.path.dirname(os.path.realpath(path)))
        names["__file__"] = path
        names["__loader__"] = importlib.machinery.SourceFileLoader("__main__", path)
        if path.endswith(".pyc"):
            code = pkgutil.read_code(io.BytesIO(source))
            if code is None:
                raise RuntimeError("Bad magic number in .pyc file")
            _exec(code, names)
            return
        linecache.checkcache(path)
        _exec(_compile(source, path, "exec", 0, True, self._optimization()), names)


def _run_module(name: str) -> None:
    top = name.partition(".")[0]
    if top in _INSTALLERS and top not in _modules:
        sys.stderr.write(f"{sys.executable}: No module named {name} ({packages.about_installing(sys.argv[1:])})\n")
        raise SystemExit(1)
    try:
        _run_as_main(name)
    except SystemExit as stop:
        text = f"No module named {name}"
        if stop.code != f"{sys.executable}: {text}" or "." in name:
            raise
        advice = packages.substitute_for(name)
        about = f"it is not installed; {advice}" if advice else packages.NOT_INSTALLED
        raise SystemExit(f"{sys.executable}: {text} ({about})") from None


def _show_lines(code: Any, source: Any, file: str) -> None:
    """Lets tracebacks show the lines of a program that has no file, where Python does so."""
    register = getattr(linecache, "_register_code", None)
    if register is None or sys.version_info < (3, 13):
        return
    text = source if isinstance(source, str) else source.decode("utf-8", "replace")
    try:
        register(code, text, file)
    except TypeError:
        pass


def _print_error(error: BaseException) -> None:
    if sys.stderr is not None:
        sys.stderr.write("".join(_format_exception(error)))


def _chain(error: BaseException) -> list[BaseException]:
    """An exception and those that it came from."""
    found: dict[int, BaseException] = {}
    pending: list[BaseException | None] = [error]
    while pending:
        one = pending.pop()
        if one is not None and id(one) not in found:
            found[id(one)] = one
            pending += [one.__cause__, one.__context__]
    return list(found.values())


def _without_own_frames(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of Wardian."""
    frames = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(places.OWN_CODE):
            frames.append(trace)
        trace = trace.tb_next
    following = None
    for one in reversed(frames):
        following = TracebackType(following, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return following


def _cut_context(error: BaseException, outer: BaseException | None) -> None:
    """Hides the exception that the parent was handling when it started the child."""
    seen: set[int] = set()
    while outer is not None and error is not None and id(error) not in seen:
        seen.add(id(error))
        if error.__context__ is outer:
            error.__context__ = None
        error = error.__context__  # type: ignore[assignment]


def _code_of(stop: SystemExit) -> int:
    code = stop.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    if sys.stderr is not None:
        try:
            sys.stderr.write(f"{code}\n")
        except (OSError, ValueError):
            pass
    return 1


def _flush(code: int) -> int:
    """Flushes the streams. The code is 120 if that fails, as natively."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
        except Exception:
            code = code or 120
    return code


def _close_left(opened: set[int]) -> None:
    """Closes what a child has left open, but for files that a part of the library still holds."""
    left = descriptors.open_ones() - opened
    if not left:
        return
    open_files.flush()
    gc.collect()
    left = descriptors.open_ones() - opened
    if not left:
        return
    held = set()
    for found in gc.get_objects():
        if isinstance(found, io.FileIO) and not found.closed:
            held.add(found.fileno())
    for number in left - held:
        try:
            posix.close(number)
        except OSError:
            pass


_depth = 0


def run(
    command: Command,
    *,
    cwd: str | None = None,
    environment: Mapping[str, str] | None = None,
    standard: Mapping[int, int] | None = None,
    timeout: float | None = None,
    prepare: Callable[[], object] | None = None,
) -> int:
    """Runs a program on these standard descriptors, and returns its exit code; `-N` for a signal N.

    Raises:
        BlockingIOError: Too many children run on top of each other.
        OSError: The folder does not exist.
        TimedOut: The time was over.
    """
    global _depth
    if _depth >= DEPTH_MAX:
        reason = f"Resource temporarily unavailable: {DEPTH_MAX} Python programs run inside of each other"
        raise BlockingIOError(11, reason)
    wanted = standard or {}
    flush_inherited(wanted)
    _depth += 1
    try:
        with descriptors.Redirection(wanted):
            if command.kind == "version":
                descriptors.put(1, interpreter_options.version_text(command).encode())
                return 0
            if command.kind == "help":
                descriptors.put(1, interpreter_options.help_text(sys.executable or "python3").encode())
                return 0
            inherits = not descriptors.is_file(1)
            return _Child(command, inherits, timeout, prepare).run(cwd, environment)
    finally:
        _depth -= 1


def flush_inherited(wanted: Mapping[int, int]) -> None:
    """Lets the parent's own output come before that of a child on the same descriptor."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        if number not in wanted or wanted[number] in (1, 2):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                pass


def run_python(
    arguments: Sequence[str],
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    timeout: float | None = None,
    standard: Mapping[int, int] | None = None,
    prepare: Callable[[], object] | None = None,
) -> int:
    """Runs what follows `python3` on a command line, and returns the exit code.

    Raises:
        BlockingIOError: Too many children run on top of each other.
        OSError: The folder does not exist.
        TimedOut: The time was over.
    """
    wanted = dict(standard or {})
    own = None
    try:
        if stdin is not None:
            own = wanted[0] = descriptors.scratch(stdin)
        try:
            command = interpreter_options.parsed(arguments, sys.executable or "python3")
        except interpreter_options.UsageError as refused:
            descriptors.put(wanted.get(2, 2), str(refused).encode())
            return 2
        return run(
            command, cwd=cwd, environment=env, standard=wanted, timeout=timeout, prepare=prepare
        )
    finally:
        if own is not None:
            descriptors.close(own)
