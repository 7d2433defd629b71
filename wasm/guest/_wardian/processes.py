"""Pools of processes whose tasks run in this process, one after another.

A task of a forked worker gets copies of its arguments, returns a copy of its value, and does not
change the program that started it. Here arguments and values are also pickled, and while a task
runs, the program's modules hold copies of their globals: those from the time of the fork, with the
changes of earlier tasks of the pool.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import copy
import errno
import functools
import os
import pickle
import random
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from _wardian import places, threads

_modules = sys.modules
_getpid = os.getpid
_atomic = (type(None), bool, int, float, complex, str, bytes, type, type(len), type(lambda: 0))


class _RemoteTraceback(Exception):
    """The traceback of an exception in a task, as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return self.text


class _State:
    """The state of a process: globals of the program, random generators, settings."""

    def __init__(self) -> None:
        self.globals = {name: dict(vars(module)) for name, module in _own_modules()}
        self.classes = {
            kind: dict(vars(kind))
            for name, values in self.globals.items()
            for kind in values.values()
            if type(kind) is type and kind.__module__ == name
        }
        self.random = random.getstate()
        self.folder = os.getcwd()
        self.environment = dict(os.environ)
        numpy_random = _modules.get("numpy.random")
        self.numpy = numpy_random.get_state() if numpy_random is not None else None

    def forked(self) -> _State:
        """Makes this state that of a child: its values are copies."""
        memo: dict[int, Any] = {}
        for values in self.globals.values():
            for name, value in values.items():
                if not isinstance(value, _atomic) and not name.startswith("__"):
                    # A value that cannot be copied, such as an open file, is shared.
                    with contextlib.suppress(Exception):
                        values[name] = copy.deepcopy(value, memo)
        return self

    def enter(self) -> None:
        """Makes this the present state."""
        for name, values in self.globals.items():
            module = _modules.get(name)
            if module is not None:
                names = vars(module)
                names.clear()
                names.update(values)
        for kind, attributes in self.classes.items():
            _restore(kind, attributes)
        random.setstate(self.random)
        if self.numpy is not None:
            _modules["numpy.random"].set_state(self.numpy)
        if os.getcwd() != self.folder:
            os.chdir(self.folder)
        if dict(os.environ) != self.environment:
            os.environ.clear()
            os.environ.update(self.environment)


def _restore(kind: type, attributes: dict[str, Any]) -> None:
    now = dict(vars(kind))
    for name in now.keys() - attributes.keys():
        delattr(kind, name)
    for name, value in attributes.items():
        if now.get(name, now) is not value:
            setattr(kind, name, value)


def _own_modules() -> Iterator[tuple[str, Any]]:
    """The modules of the program: those in its folder, and those without a file."""
    seen = set()
    for name, module in list(_modules.items()):
        file = getattr(module, "__file__", None)
        is_own = name in ("__main__", "main") or (
            isinstance(file, str) and file.startswith(places.WORKSPACE + "/")
        )
        if is_own and id(module) not in seen:
            seen.add(id(module))
            yield name, module


def note_process() -> None:
    """Learns that the number of the process has changed."""
    global _getpid
    _getpid = os.getpid


_last = 0


_planned: int | None = None


def next_number() -> int:
    """Returns the number of a new process: the planned one, if there is one."""
    global _last, _planned
    number, _planned = _planned, None
    if number is None:
        _last += 1
        number = _getpid() + _last
    return number


def plan_number(number: int | None) -> None:
    """Lets the next new process have a number that its parent knows already."""
    global _planned
    _planned = number


_ended: dict[int, int] = {}
"""Children that have ended and that nobody has waited for: their numbers and statuses."""


def note_end(status: int) -> int:
    """Keeps the status of a child that has ended, and returns its number."""
    number = next_number()
    _ended[number] = status
    return number


def waitpid(pid: int, options: int, /) -> tuple[int, int]:
    """Returns the number and the status of a child that was started without waiting for it.

    Raises:
        ChildProcessError: There is no such child.
    """
    if pid in (-1, 0) and _ended:
        pid = next(iter(_ended))
    if pid not in _ended:
        raise ChildProcessError(errno.ECHILD, os.strerror(errno.ECHILD))
    return pid, _ended.pop(pid)


def wait() -> tuple[int, int]:
    """Returns the number and the status of any child."""
    return waitpid(-1, 0)


class _Child:
    """The worker of a pool. It begins with a copy of the program's present state."""

    def __init__(
        self, kind: str, initializer: Callable[..., object] | None, initargs: tuple[Any, ...]
    ) -> None:
        self._pid = next_number()
        self._name = f"{kind}-{_last}"
        self._state = _State().forked()
        self._is_active = False
        self._initialize = functools.partial(initializer, *initargs) if initializer else None

    def __reduce__(self) -> Any:
        raise TypeError("pool objects cannot be passed between processes or pickled")

    def call(self, task: bytes) -> Any:
        """Performs a pickled task, and returns a copy of its value."""
        if self._is_active:
            return self._perform(task)
        parent, number = _State(), os.getpid
        process: Any = _modules.get("multiprocessing.process")
        current = process and process._current_process
        self._is_active = True
        try:
            self._state.enter()
            os.getpid = lambda: self._pid
            if process:
                process._current_process = Current(current, self._name, self._pid)
            if self._initialize is not None:
                initialize, self._initialize = self._initialize, None
                initialize()
            return self._perform(task)
        finally:
            self._is_active = False
            self._state = _State()
            parent.enter()
            os.getpid = number
            if process:
                process._current_process = current

    def _perform(self, task: bytes) -> Any:
        try:
            function, args, named = pickle.loads(task)
            return pickle.loads(pickle.dumps(function(*args, **named)))
        except Exception as error:
            text = "".join(traceback.format_exception(error))
            try:
                copied = pickle.loads(pickle.dumps(error))
            except Exception:
                copied = error
            copied.__cause__ = _RemoteTraceback(f'\n"""\n{text}"""')
            raise copied from copied.__cause__


class Current:
    """The value of `multiprocessing.current_process()` in a task, and in a child process."""

    def __init__(self, parent: Any, name: str, pid: int) -> None:
        self.__dict__.update(vars(parent))
        self.name = self._name = name
        self.pid = self.ident = pid
        self.daemon = False
        self.exitcode = None

    def is_alive(self) -> bool:
        """It runs."""
        return True


def _task(function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Callable[[_Child], Any]:
    """A pickled task, or a task that raises the error of pickling."""
    try:
        task = pickle.dumps((function, args, named))
    except Exception as error:
        return functools.partial(_fail, error)
    return lambda child: child.call(task)


def _fail(error: Exception, child: _Child) -> None:
    raise error


class ProcessPoolExecutor(concurrent.futures.ThreadPoolExecutor):
    """Replaces that of `concurrent.futures`."""

    def __init__(
        self,
        max_workers: int | None = None,
        mp_context: Any = None,
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
        *,
        max_tasks_per_child: int | None = None,
    ) -> None:
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        super().__init__(max_workers or os.cpu_count() or 1)
        self._first = (initializer, initargs)
        self._child: _Child | None = None

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Replaces `ProcessPoolExecutor.submit`."""
        if self._child is None:
            self._child = _Child("ForkProcess", *self._first)
        return super().submit(_task(fn, args, kwargs), self._child)

    def map(
        self, fn: Any, *iterables: Any, timeout: float | None = None, chunksize: int = 1, **more: Any
    ) -> Iterator[Any]:
        """Replaces `ProcessPoolExecutor.map`."""
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        return super().map(fn, *iterables, timeout=timeout, **more)


ProcessPoolExecutor.__module__ = "concurrent.futures.process"


class Pool(threads.ThreadPool):
    """Replaces `multiprocessing.Pool`."""

    def __init__(
        self,
        processes: int | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: Any = (),
        maxtasksperchild: int | None = None,
        context: Any = None,
    ) -> None:
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        super().__init__(processes)
        self._child = _Child("ForkPoolWorker", initializer, tuple(initargs))

    def _all(self, function: Callable[..., Any], calls: Any) -> list[Any]:
        if not self._is_open:
            raise ValueError("Pool not running")
        tasks = [_task(function, arguments, {}) for arguments in calls]
        return [self._pool.submit(task, self._child) for task in tasks]

    def __reduce__(self) -> Any:
        raise NotImplementedError(
            "pool objects cannot be passed between processes or pickled"
        )


Pool.__module__ = "multiprocessing.pool"
