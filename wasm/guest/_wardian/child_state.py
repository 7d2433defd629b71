"""The state of a process that a child must not share with its parent, besides modules.

Each part of the state is a function: it saves the parent's part, makes it that of a new process, and returns
what puts it back. A child runs in the interpreter of its parent, so this is the border between the two. The
page on compatibility says where it ends.
"""

from __future__ import annotations

import _signal
import asyncio
import atexit
import builtins
import contextlib
import copy
import errno
import functools
import gc
import io
import locale
import logging
import os
import random
import socket
import sys
import threading
import traceback
import warnings
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from _wardian import event_loop, files, importer, places, platform, processes, signals, threads, timers
from _wardian.descriptors import duplicate, text_stream

PutBack = Callable[[], object]

_modules = sys.modules
_chdir, _getcwd = os.chdir, os.getcwd
_environment: Any = os.environ
_default_filters = list(warnings.filters)  # type: ignore[attr-defined]
_frame = sys._getframe

_SIGNALS = range(1, 65)
_RECURSION_LIMIT = 1000

_base_path: list[str] = list(sys.path)


def begin_run() -> None:
    """Notes the folders of packages, which every child of the run has."""
    _base_path[:] = sys.path


def note_image() -> None:
    """Notes what each new process begins with."""
    _default_filters[:] = warnings.filters  # type: ignore[attr-defined]


def base_path() -> list[str]:
    """The folders in which a new process finds modules, without those of its program."""
    return list(_base_path)


def folder() -> PutBack:
    """The current folder and the mask for new files."""
    try:
        before = _getcwd()
    except OSError:
        before = places.WORKSPACE
    mask = files.present_umask()

    def put_back() -> None:
        if files.present_umask() != mask:
            os.umask(mask)
        if _getcwd() != before:
            _chdir(before)

    return put_back


def environment(wanted: Mapping[str, str] | None) -> PutBack:
    """The variables of the environment."""
    before = dict(_environment)
    if wanted is not None:
        _environment.clear()
        _environment.update(wanted)

    def put_back() -> None:
        now = dict(_environment)
        for name in now.keys() - before.keys():
            del _environment[name]
        for name, value in before.items():
            if now.get(name) != value:
                _environment[name] = value

    return put_back


def imports() -> PutBack:
    """The lists by which modules are found."""
    path, content = sys.path, list(sys.path)
    finders, hooks = list(sys.meta_path), list(sys.path_hooks)
    sys.path = list(_base_path)
    read_only = (places.LIBRARY, places.BATTERIES, places.LAYERS)
    for place, finder in list(sys.path_importer_cache.items()):
        if not place.startswith(read_only) and finder is not None:
            getattr(finder, "invalidate_caches", lambda: None)()
    relative = _take_relative_finders()
    skills = importer.begin_process()

    def put_back() -> None:
        importer.end_process(skills)
        _take_relative_finders()
        sys.path_importer_cache.update(relative)
        sys.path = path
        path[:] = content
        new = [one for one in sys.meta_path if one not in finders and _is_of_library(one)]
        sys.meta_path[:] = finders + new
        sys.path_hooks[:] = hooks

    return put_back


def _take_relative_finders() -> dict[str, Any]:
    """Removes the finders of relative folders, which remember what the current folder was."""
    found = sys.path_importer_cache
    return {place: found.pop(place) for place in list(found) if not place.startswith("/")}


def _is_of_library(thing: object) -> bool:
    """True for an object of a class of a module that is still loaded: `six` finds modules itself."""
    kind: Any = thing if isinstance(thing, type) else type(thing)
    return kind.__module__ in _modules and kind.__module__ not in ("__main__", "builtins")


def warning_filters() -> PutBack:
    """The filters of warnings."""
    module: Any = warnings
    filters, content = module.filters, list(module.filters)

    def put(wanted: list[Any]) -> None:
        module.simplefilter("default")  # which tells the interpreter that the filters are others
        module.filters[:] = wanted

    put(_default_filters)

    def put_back() -> None:
        module.filters = filters
        put(content)

    return put_back


def randomness() -> PutBack:
    """The random numbers. Those of NumPy begin anew too, as in a new process."""
    before = random.getstate()
    random.seed()
    numpy_random: Any = _modules.get("numpy.random.mtrand")
    state = numpy_random._rand.get_state() if numpy_random is not None else None
    if numpy_random is not None:
        numpy_random._rand.seed()

    def put_back() -> None:
        random.setstate(before)
        now: Any = _modules.get("numpy.random.mtrand")
        if numpy_random is not None:
            numpy_random._rand.set_state(state)
        elif now is not None:
            now._rand.seed()

    return put_back


def interpreter() -> PutBack:
    """Limits, collection of garbage, tracing, and settings of C modules."""
    enabled, thresholds, debug = gc.isenabled(), gc.get_threshold(), gc.get_debug()
    callbacks = list(gc.callbacks)
    depth, frame = 0, _frame(0)
    while frame is not None:
        depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
    get, put = sys.getrecursionlimit, sys.setrecursionlimit
    limit, digits = get(), sys.get_int_max_str_digits()
    switch, tracer, profiler = sys.getswitchinterval(), sys.gettrace(), sys.getprofile()
    timeout = socket.getdefaulttimeout()
    csv: Any = _modules.get("_csv")
    field = csv.field_size_limit() if csv is not None else None

    def setrecursionlimit(limit: int, /) -> None:
        put(limit + depth if type(limit) is int and 0 < limit < 1 << 30 else limit)

    setrecursionlimit(_RECURSION_LIMIT)
    sys.setrecursionlimit = setrecursionlimit
    sys.getrecursionlimit = lambda: get() - depth
    gc.enable()
    sys.settrace(None)
    sys.setprofile(None)
    socket.setdefaulttimeout(None)

    def put_back() -> None:
        put(limit)
        (gc.enable if enabled else gc.disable)()
        gc.set_threshold(*thresholds)
        gc.set_debug(debug)
        gc.callbacks[:] = callbacks
        sys.set_int_max_str_digits(digits)
        sys.setswitchinterval(switch)
        sys.settrace(tracer)
        sys.setprofile(profiler)
        socket.setdefaulttimeout(timeout)
        if field is not None:
            csv.field_size_limit(field)

    return put_back


def signal_handlers() -> PutBack:
    """The handlers of signals. Those of the timer and of interruptions are the caller's to set."""
    before = {number: _handler_of(number) for number in _SIGNALS}
    for number, handler in before.items():
        if callable(handler) and number not in (signals.INTERRUPT, timers.ALARM):
            signals.set_handler(number, _signal.SIG_DFL)

    def put_back() -> None:
        for number, handler in before.items():
            is_put_back = handler is not None and number not in (signals.INTERRUPT, timers.ALARM)
            if is_put_back and _handler_of(number) is not handler:
                signals.set_handler(number, handler)

    return put_back


def _handler_of(number: int) -> Any:
    try:
        return signals.get_handler(number)
    except (OSError, ValueError):
        return None


def locales() -> PutBack:
    """The locale of each category."""
    before = locale.setlocale(locale.LC_ALL)
    with contextlib.suppress(locale.Error):
        locale.setlocale(locale.LC_ALL, "C")
        locale.setlocale(locale.LC_CTYPE, "C.UTF-8")

    def put_back() -> None:
        if locale.setlocale(locale.LC_ALL) != before:
            locale.setlocale(locale.LC_ALL, before)

    return put_back


def _loggers() -> dict[str, Any]:
    return dict(logging.Logger.manager.loggerDict)


def log_handlers() -> PutBack:
    """Loggers and their handlers. Those of libraries keep a handler that does nothing."""
    root: Any = logging.root
    known: Any = logging.Logger.manager
    loggers = {"": root, **_loggers()}
    fields = ("handlers", "filters", "level", "propagate", "disabled")
    before = []
    for logger in loggers.values():
        if not isinstance(logger, logging.Logger):
            continue
        before.append((logger, [getattr(logger, field) for field in fields]))
        silent = [one for one in logger.handlers if type(one) is logging.NullHandler]
        logger.handlers, logger.filters = silent, []
        logger.level = logging.NOTSET if logger is not root else logging.WARNING
        logger.propagate, logger.disabled = True, False
        logger._cache.clear()  # type: ignore[attr-defined]
    handlers, disable = list(logging._handlerList), known.disable  # type: ignore[attr-defined]
    known.disable = 0

    def put_back() -> None:
        for name, logger in _loggers().items():
            if name in loggers:
                continue
            if name.partition(".")[0] not in _modules:
                del known.loggerDict[name]
            elif isinstance(logger, logging.Logger):
                logger.handlers = [one for one in logger.handlers if type(one) is logging.NullHandler]
                logger.level, logger.filters = logging.NOTSET, []
                logger.propagate, logger.disabled = True, False
                logger._cache.clear()  # type: ignore[attr-defined]
        for logger, values in before:
            for field, value in zip(fields, values, strict=True):
                setattr(logger, field, value)
            logger._cache.clear()
        logging._handlerList[:] = handlers  # type: ignore[attr-defined]
        known.disable = disable

    return put_back


def close_log_handlers(before: int) -> None:
    """Flushes and closes the handlers that a child has made, the last one first."""
    for reference in reversed(logging._handlerList[before:]):  # type: ignore[attr-defined]
        handler = reference()
        if handler is None:
            continue
        try:
            handler.acquire()
            try:
                handler.flush()
                handler.close()
            finally:
                handler.release()
        except (OSError, ValueError):
            pass


class ExitHandlers:
    """The exit handlers of a child, in the place of those of its parent."""

    def __init__(self) -> None:
        self._calls: list[tuple[Callable[..., object], tuple[Any, ...], dict[str, Any]]] = []

    def register(self, func: Callable[..., object], /, *args: Any, **kwargs: Any) -> Any:
        """Replaces `atexit.register`."""
        if not callable(func):
            raise TypeError("the first argument must be callable")
        self._calls.append((func, args, kwargs))
        return func

    def unregister(self, func: object, /) -> None:
        """Replaces `atexit.unregister`."""
        self._calls[:] = [call for call in self._calls if call[0] != func]

    def run(self) -> None:
        """Calls the handlers, the last one first."""
        while self._calls:
            function, args, named = self._calls.pop()
            try:
                function(*args, **named)
            except threads.Unwinds:
                raise
            except BaseException as error:
                trace = error.__traceback__
                error = error.with_traceback(trace.tb_next if trace else None)
                stream = sys.stderr
                if stream is not None:
                    stream.write(f"Exception ignored in atexit callback {function!r}:\n")
                    traceback.print_exception(error, file=stream)

    def count(self) -> int:
        """Returns how many there are."""
        return len(self._calls)

    def forget(self) -> None:
        """Drops them all."""
        self._calls.clear()


def exit_handlers(handlers: ExitHandlers) -> PutBack:
    """What is called at the end of the process. The names in `atexit` come back with the modules."""
    module, finalize = atexit, weakref.finalize
    for name, function in (
        ("register", handlers.register),
        ("unregister", handlers.unregister),
        ("_run_exitfuncs", handlers.run),
        ("_ncallbacks", handlers.count),
        ("_clear", handlers.forget),
    ):
        setattr(module, name, function)
    kind: Any = finalize
    before = kind._registry, kind._registered_with_atexit, kind._shutdown, kind._dirty
    kind._registry, kind._registered_with_atexit, kind._shutdown, kind._dirty = {}, False, False, False

    def put_back() -> None:
        kind._registry, kind._registered_with_atexit, kind._shutdown, kind._dirty = before

    return put_back


def thread_list() -> PutBack:
    """The threads, but for the one that runs everything."""
    module: Any = threading
    schedule = threads.begin_process()
    active, limbo, main = dict(module._active), dict(module._limbo), module._main_thread
    at_exit = list(module._threading_atexits)
    mine = copy.copy(main)  # another object, so that thread-local values are the child's own
    module._active.clear()
    module._limbo.clear()
    module._active[threads.MAIN_IDENT] = mine
    module._main_thread = mine
    module._threading_atexits[:] = []

    def put_back() -> None:
        threads.end_process(schedule)
        module._active.clear()
        module._active.update(active)
        module._limbo.clear()
        module._limbo.update(limbo)
        module._main_thread = main
        module._threading_atexits[:] = at_exit

    return put_back


def loops() -> PutBack:
    """The running event loop and its task: a child may run a loop of its own."""
    events: Any = asyncio.events
    running = events._get_running_loop()
    task = None
    if running is not None:
        task = _exchange_task(running, None)
        events._set_running_loop(None)
    current = event_loop.provided_loop()
    event_loop.provide_loop()
    event_loop.lend_loop(None)

    def put_back() -> None:
        event_loop.provide_loop(current)
        if running is not None:
            events._set_running_loop(running)
            _exchange_task(running, task)

    return put_back


def _exchange_task(loop: Any, task: Any) -> Any:
    tasks: Any = asyncio.tasks
    exchange = getattr(tasks, "_swap_current_task", None)
    if exchange is not None:
        return exchange(loop, task)
    before = tasks.current_task(loop)  # Python before 3.12
    if before is not None:
        tasks._leave_task(loop, before)
    if task is not None:
        tasks._enter_task(loop, task)
    return before


def identity() -> PutBack:
    """The numbers of the process and of its parent."""
    parent, pid = os.getpid(), processes.next_number()
    before = platform.present_process()
    platform.set_process(pid)
    os.getpid, os.getppid = lambda: pid, lambda: parent
    worker: Any = _modules.get("multiprocessing.process")
    if worker is not None:
        current = worker._current_process
        worker._current_process = processes.Current(current, "MainProcess", pid)
        worker._parent_process, worker._children = None, set()

    def put_back() -> None:
        platform.set_process(before)

    return put_back


def packages() -> PutBack:
    """Settings and open figures of packages."""
    style: Any = _modules.get("matplotlib")
    settings = dict(dict.items(style.rcParams)) if style is not None else None
    open_figures: Any = _modules.get("matplotlib._pylab_helpers")
    figures = None
    if open_figures is not None:
        figures = open_figures.Gcf.figs
        open_figures.Gcf.figs = type(figures)()
    if style is not None and settings is not None:
        first = {**copy.deepcopy(dict(dict.items(style.rcParamsOrig))), "backend": settings["backend"]}
        dict.update(style.rcParams, first)
    tables: Any = _modules.get("pandas._config.config")
    options = copy.deepcopy(tables._global_config) if tables is not None else None

    def put_back() -> None:
        now: Any = _modules.get("matplotlib")
        if now is not None:
            dict.update(now.rcParams, now.rcParamsOrig if settings is None else settings)
        shown: Any = _modules.get("matplotlib._pylab_helpers")
        if shown is not None:
            shown.Gcf.figs = figures if figures is not None else type(shown.Gcf.figs)()
        if options is not None:
            tables._global_config.clear()
            tables._global_config.update(options)

    return put_back


def other_descriptors(opened: set[int]) -> PutBack:
    """The open files of the parent. The names in `os` come back with the modules."""
    close = os.close

    def close_own(fd: int) -> None:
        if fd in opened:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        close(fd)

    def close_range(fd_low: int, fd_high: int, /) -> None:
        for number in range(max(fd_low, 0), min(fd_high, 1 << 10)):
            if number not in opened:
                with contextlib.suppress(OSError):
                    close(number)

    for name, function in (("close", close_own), ("closerange", close_range)):
        function.__name__ = function.__qualname__ = name
        setattr(os, name, files.own(function))
    return lambda: None


def standard_streams(encoding: str, errors: str | None, is_unbuffered: bool, inherits: bool) -> PutBack:
    """`sys.stdin`, `stdout` and `stderr`. The names in `sys` come back with the modules."""
    mode = "none" if is_unbuffered else "lines" if inherits else "blocks"
    lenient = errors or "surrogateescape"
    sys.stdin = text_stream(0, encoding, lenient, mode)
    sys.stdout = text_stream(1, encoding, lenient, mode)
    sys.stderr = text_stream(2, encoding, "backslashreplace", "none" if is_unbuffered else "lines")
    sys.__stdin__ = text_stream(0, encoding, lenient, mode)  # type: ignore[misc]
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr  # type: ignore[misc]
    builtins.input = _input
    builtins.open = io.open = _opening(io.open, is_low=False)  # type: ignore[assignment]
    os.open = files.own(_opening(os.open, is_low=True))
    return lambda: None


_DEVICES = {f"/dev/{name}": number for number, name in enumerate(("stdin", "stdout", "stderr"))}
_DEVICES |= {f"{folder}/{number}": number for folder in ("/dev/fd", "/proc/self/fd") for number in range(3)}
"""Names of the standard descriptors. The files of these names are the streams of the run."""


def _opening(function: Any, is_low: bool) -> Any:
    """Lets a function open a standard descriptor of the child by its name."""

    @functools.wraps(function)
    def opening(file: Any, *args: Any, **named: Any) -> Any:
        number = _DEVICES.get(file) if type(file) is str else None
        if number is None:
            return function(file, *args, **named)
        copied = duplicate(number)
        return copied if is_low else function(copied, *args, **named)

    return opening


def without_input(advice: str) -> None:
    """Lets `input` of this child say what to do, because it has nothing to read."""
    builtins.input = functools.partial(_input_without, advice)


def _input_without(advice: str, prompt: object = "", /) -> str:
    try:
        return _input(prompt)
    except EOFError:
        raise EOFError(f"input(): nobody types here; {advice}") from None


def _input(prompt: object = "", /) -> str:
    """Replaces `input` in a child, which has the standard input that its parent gives it."""
    if sys.stdin is None or sys.stdout is None:
        raise RuntimeError("input(): lost sys.stdin")
    sys.stdout.write(str(prompt))
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not isinstance(line, str):
        raise TypeError("object.readline() returned non-string")
    if not line:
        raise EOFError("EOF when reading a line")
    return line.removesuffix("\n")


_input.__name__ = _input.__qualname__ = "input"
_input.__module__ = "builtins"
