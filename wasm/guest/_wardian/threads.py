"""Threads in an interpreter with one native thread: each runs in place, to its end.

A started thread waits in a queue. It runs when another thread waits for a lock, a condition, a
queue, a future or a thread, when an event loop has nothing to do, or when the main program sleeps or
ends. A thread that has to wait runs the threads that have not begun, on top of its own stack. If it waits for
work of a pool, that pool goes first. So a program works if there is an order in which its threads can run
without interruption: pools, workers with a queue, barriers, timers.

A program without such an order (two threads that take turns) cannot run. The thread that would
have to be interrupted is unwound, and the program fails with an error about it. Only a daemon
thread may be left waiting, as at the end of a program.

All locks are implemented in Python. The interpreter would abort if one of its own locks had to
wait.
"""

from __future__ import annotations

import _thread
import concurrent.futures.thread
import contextvars
import functools
import itertools
import os
import queue
import reprlib
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import _threading_local
from _wardian import clock, event_loop, local_sockets, timers
from _wardian.apart import apart

_sleep = clock.sleep
_now = time.monotonic
_main_ident = MAIN_IDENT = _thread.get_ident()
_Thread = threading.Thread

_ONE_AT_A_TIME = "there are no threads in the sandbox: they run one after another, each to its end"


class Unwinds(BaseException):
    """Unwinds a thread that cannot go on, or a whole process."""


class _Parked(Unwinds):
    """Unwinds a thread that waits for an interrupted thread."""

    def __init__(self, message: str, is_late: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.is_late = is_late


class _Unit:
    """Queued work, and the thread that it runs as."""

    __slots__ = ("call", "due", "has_asked", "is_daemon", "thread")

    def __init__(self, thread: Any, call: Callable[[], None], due: float | None = None) -> None:
        self.thread = thread
        self.call = call
        self.due = due
        self.is_daemon: bool = thread.daemon
        self.has_asked = False


class _Schedule:
    """Queued and running threads, and the first failure."""

    def __init__(self) -> None:
        self.pending: deque[_Unit] = deque()
        self.running: list[_Unit] = []
        self.failure: str | None = None
        self.late: str | None = None
        self.wake_up: float | None = None  # when the sleeping main program would go on
        self.idents = itertools.count(1)

    def run_next(self, before: float | None = None, daemons: bool = True) -> bool:
        """Runs the thread that was started first, timers last. False if there is none.

        Raises:
            RuntimeError: It needs another thread that is in the middle of its work.
        """
        unit = self._next(before, daemons)
        if unit is None:
            return False
        self.run(unit)
        return True

    def run(self, unit: _Unit) -> None:
        """Runs a queued thread.

        Raises:
            RuntimeError: It needs another thread that is in the middle of its work.
        """
        self.pending.remove(unit)
        self.running.append(unit)
        try:
            with apart():
                contextvars.Context().run(unit.call)
        except _Parked as parked:
            unit.thread._turn = "parked"
            if parked.is_late and unit.is_daemon:
                self.late = parked.message
            elif not unit.is_daemon and self.failure is None:
                self.failure = parked.message
        finally:
            self.running.pop()
        self.fail_if_stuck()

    def _next(self, before: float | None, daemons: bool = True) -> _Unit | None:
        timers = []
        for unit in self.pending:
            if unit.is_daemon and not daemons:
                continue
            if unit.due is None:
                return unit
            if before is None or unit.due <= before:
                timers.append(unit)
        return min(timers, key=lambda unit: unit.due or 0.0) if timers else None

    def fail_if_stuck(self) -> None:
        """Ends the program if one of its threads could not go on."""
        if self.failure is None:
            return
        if self.running:
            raise _Parked(self.failure)
        message, self.failure = self.failure, None
        raise RuntimeError(message)

    def wait(self, is_over: Callable[[], bool], timeout: float | None, what: str) -> bool:
        """Lets other threads run until `is_over`, or sleeps until `timeout` has passed.

        Raises:
            RuntimeError: Nothing that can still run would ever end the waiting.
        """
        deadline = None if timeout is None else _now() + timeout
        while not is_over():
            if self.run_next(deadline):
                continue
            if deadline is None:
                if timers.wait(_sleep):  # its handler may raise, or end the waiting
                    continue
                raise self.stuck(what)
            left = deadline - _now()
            if left > 0:
                _sleep(left)
            return is_over()
        return True

    def stuck(self, what: str) -> BaseException:
        if self.running:
            name = self.running[-1].thread.name
            return _Parked(
                f"this program needs two threads at once: the thread `{name}` waits for {what} "
                f"and only a thread that is interrupted in its work could end that; "
                f"{_ONE_AT_A_TIME}; call the functions in order instead, start what is waited for "
                f"first, or use coroutines, which take turns (`async def`, `astream()` of LangChain)"
            )
        return RuntimeError(
            f"this program waits for ever: it waits for {what} and no other thread can end that "
            f"({_ONE_AT_A_TIME})"
        )

    def late_thread(self) -> _Parked:
        name = self.running[-1].thread.name
        return _Parked(
            f"this program needs two threads at once: the thread `{name}` goes on in the "
            f"background while the main program does ({_ONE_AT_A_TIME}); do its work in a loop "
            f"of the main program instead",
            is_late=True,
        )


_schedule = _Schedule()


def forget() -> None:
    """Resets the state for rehearsals and tests; each real run has a new memory."""
    for unit in (*_schedule.pending, *_schedule.running):
        if isinstance(unit.thread, _Queued):
            continue
        threading._active.pop(unit.thread._ident, None)  # type: ignore[attr-defined]
    _schedule.__init__()  # type: ignore[misc]


def begin_process() -> dict[str, Any]:
    """Begins a process without other threads. Returns what `end_process` puts back."""
    before = dict(vars(_schedule))
    _schedule.__init__()  # type: ignore[misc]
    return before


def end_process(before: dict[str, Any]) -> None:
    """Ends the process, whose remaining threads are dropped, and goes on with the one before."""
    vars(_schedule).update(before)


class _Queued:
    """Stands for a thread: it has the turn of a child process, which is started by the main thread."""

    daemon, name, _ident, _turn = False, "child process", MAIN_IDENT, "pending"


def queue_child(call: Callable[[], None], waits_for_input: bool) -> _Unit:
    """Lets a child process run when the program waits for something, sleeps or ends.

    One that waits for input runs only where the program would wait for ever, or ends.
    """
    unit = _Unit(_Queued(), call, float("inf") if waits_for_input else None)
    _schedule.pending.append(unit)
    return unit


def unqueue(unit: _Unit) -> bool:
    """Takes a child process out of the queue. False if it was not there."""
    try:
        _schedule.pending.remove(unit)
    except ValueError:
        return False
    return True


def finish() -> None:
    """Runs the remaining threads after the end of the program, as Python does, without daemons.

    Raises:
        RuntimeError: One of the threads cannot go on.
    """
    if not _schedule.pending and _schedule.failure is None:
        return
    _schedule.running.clear()
    while any(not unit.is_daemon for unit in _schedule.pending):
        for unit in [unit for unit in _schedule.pending if unit.is_daemon]:
            _schedule.pending.remove(unit)
        _schedule.run_next()
    _schedule.fail_if_stuck()


def finish_children() -> None:
    """Runs the child processes that have not begun, after the end of a program by force, which ends its threads."""
    _schedule.failure = None
    _schedule.running.clear()
    for unit in list(_schedule.pending):
        if not isinstance(unit.thread, _Queued):
            _schedule.pending.remove(unit)
    while _schedule.run_next():
        pass


def settle() -> None:
    """Runs the threads that can run at the end of a cell. Daemons and timers stay for later ones.

    Raises:
        RuntimeError: One of the threads cannot go on.
    """
    pending = _schedule.pending
    if not pending and _schedule.failure is None:
        return
    _schedule.running.clear()
    later = [unit for unit in pending if unit.is_daemon or unit.due is not None]
    for unit in later:
        pending.remove(unit)
    try:
        while pending:
            _schedule.run_next()
    finally:
        pending.extend(later)
    _schedule.fail_if_stuck()


def sleep(seconds: float, /) -> None:
    """Replaces `time.sleep`: the main program lets its threads run meanwhile."""
    schedule = _schedule
    if schedule.running:
        if schedule.running[-1].is_daemon and _is_awaited_late():
            raise schedule.late_thread()
        _sleep(seconds)
        return
    if schedule.late is not None:
        raise RuntimeError(schedule.late)
    if not schedule.pending or not isinstance(seconds, (int, float)) or seconds < 0:
        _sleep(seconds)
        return
    schedule.wake_up = end = _now() + seconds
    try:
        while schedule.run_next(end):
            pass
    finally:
        schedule.wake_up = None
    if (left := end - _now()) > 0:
        _sleep(left)


def run_beside(timeout: float | None) -> bool:
    """Runs a started thread while an event loop waits. False if there is none to run.

    A loop that waits for its next timer leaves daemons alone, which may never end. One that would wait for
    ever has nothing to lose.

    Raises:
        RuntimeError: The thread needs another one, or goes on although the loop has to.
    """
    schedule = _schedule
    if not schedule.pending:
        return False
    if timeout is None:
        return schedule.run_next()
    if schedule.running:
        return False
    schedule.wake_up = end = _now() + timeout
    try:
        return schedule.run_next(end, daemons=False)
    finally:
        schedule.wake_up = None


def _is_awaited_late() -> bool:
    """True in a thread that still runs when the sleeping main program would be awake again."""
    wake_up = _schedule.wake_up
    return wake_up is not None and _now() > wake_up


def get_ident() -> int:
    """Replaces `threading.get_ident`."""
    running = _schedule.running
    return running[-1].thread._ident if running else _main_ident


class Lock:
    """Replaces `threading.Lock`."""

    __slots__ = ("__weakref__", "_is_held")

    def __init__(self) -> None:
        self._is_held = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Takes the lock; if it is held, lets other threads run until it is free."""
        if not self._is_held and blocking and timeout == -1:
            self._is_held = True
            return True
        if not blocking and timeout != -1:
            raise ValueError("can't specify a timeout for a non-blocking call")
        if timeout < 0 and timeout != -1:
            raise ValueError("timeout value must be a non-negative number")
        if self._is_held:
            if not blocking:
                return False
            wanted = None if timeout == -1 else timeout
            if not _schedule.wait(self._is_free, wanted, "a lock that is held"):
                return False
        self._is_held = True
        return True

    def _is_free(self) -> bool:
        return not self._is_held

    def release(self) -> None:
        """Frees the lock."""
        if not self._is_held:
            raise RuntimeError("release unlocked lock")
        self._is_held = False

    def locked(self) -> bool:
        """True if the lock is held."""
        return self._is_held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()

    acquire_lock, release_lock, locked_lock = acquire, release, locked

    def _at_fork_reinit(self) -> None:
        self._is_held = False

    def __repr__(self) -> str:
        state = "locked" if self._is_held else "unlocked"
        return f"<{state} _thread.lock object at {id(self):#x}>"


Lock.__module__, Lock.__qualname__, Lock.__name__ = "_thread", "lock", "lock"


def _start(self: Any) -> None:
    """Replaces `Thread.start`."""
    if not self._initialized:
        raise RuntimeError("thread.__init__() not called")
    if self._started.is_set():
        raise RuntimeError("threads can only be started once")
    _settle(self)
    due = None
    if isinstance(self, threading.Timer):
        due = self._due = _now() + self.interval
    _schedule.pending.append(_Unit(self, functools.partial(_bootstrap, self), due))


def _settle(thread: Any) -> None:
    thread._ident = _main_ident + 8 * next(_schedule.idents)
    thread._native_id = thread._ident
    thread._turn, thread._polls = "pending", 0
    threading._active[thread._ident] = thread  # type: ignore[attr-defined]
    thread._started.set()


def _bootstrap(thread: Any) -> None:
    thread._turn = "running"
    try:
        thread.run()
    except (SystemExit, Unwinds) as stop:
        if isinstance(stop, Unwinds):
            raise
    except BaseException as error:
        threading.excepthook(
            threading.ExceptHookArgs((type(error), error, error.__traceback__, thread))
        )
    thread._turn = "done"
    threading._active.pop(thread._ident, None)  # type: ignore[attr-defined]


def _join(self: Any, timeout: float | None = None) -> None:
    """Replaces `Thread.join`."""
    if not self._initialized:
        raise RuntimeError("Thread.__init__() not called")
    if not self._started.is_set():
        raise RuntimeError("cannot join thread before it is started")
    if self is threading.current_thread():
        raise RuntimeError("cannot join current thread")
    turn = getattr(self, "_turn", "done")
    if turn == "done":
        return
    limit = None if timeout is None else max(timeout, 0.0)
    what = f"the thread `{self.name}`"
    if turn == "parked":
        what += ", which was left waiting,"
    _schedule.wait(lambda: self._turn == "done", limit, what)


def _repr(self: Any) -> str:
    """Replaces `Thread.__repr__`, which asks the system whether the thread has ended."""
    if not self._initialized:
        raise AssertionError("Thread.__init__() was not called")
    status = "initial"
    if self._started.is_set():
        status = "stopped" if getattr(self, "_turn", "") == "done" else "started"
    daemon = " daemon" if self._daemonic else ""
    ident = "" if self._ident is None else f" {self._ident}"
    return f"<{self.__class__.__name__}({self._name}, {status}{daemon}{ident})>"


def _is_alive(self: Any) -> bool:
    """Replaces `Thread.is_alive`. A second call runs a queued thread, so that polling ends."""
    if not self._initialized or not self._started.is_set():
        return False
    turn = getattr(self, "_turn", None)
    if turn is None:
        return self is threading.main_thread()
    if turn == "pending":
        self._polls += 1
        while self._polls > 1 and self._turn == "pending" and _schedule.run_next():
            pass
    return self._turn != "done"


def _run_timer(self: Any) -> None:
    """Replaces `Timer.run`: waits from the start of the timer, not from its turn."""
    self.finished.wait(max(0.0, self._due - _now()))
    if not self.finished._flag:
        self.function(*self.args, **self.kwargs)
    self.finished.set()


def _is_set(self: Any) -> bool:
    """Replaces `Event.is_set`. A thread that polls runs others that may set the event."""
    if not self._flag and _schedule.running:
        unit = _schedule.running[-1]
        if not unit.has_asked:
            unit.has_asked = True  # the first call returns, so that a loop does some work
        elif not _schedule.run_next() and _is_awaited_late():
            raise _schedule.late_thread()
    return self._flag  # type: ignore[no-any-return]


_wait_for_event = threading.Event.wait


def _event_wait(self: Any, timeout: float | None = None) -> bool:
    """Replaces `Event.wait`."""
    if timeout is not None and not self._flag and _schedule.running and _is_awaited_late():
        if not isinstance(_schedule.running[-1].thread, threading.Timer):
            raise _schedule.late_thread()
    return _wait_for_event(self, timeout)


def _start_new_thread(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
) -> int:
    """Replaces `_thread.start_new_thread`."""
    thread: Any = _Thread(target=function, args=args, kwargs=kwargs or {}, daemon=True)
    thread.start()
    ident: int = thread._ident
    return ident


def _submit(self: Any, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Replaces `ThreadPoolExecutor.submit`."""
    if self._shutdown:
        raise RuntimeError("cannot schedule new futures after shutdown")
    workers = self.__dict__.setdefault("_workers", [])
    tasks = self.__dict__.setdefault("_task_numbers", itertools.count())
    future: Any = concurrent.futures.Future()
    future._wardian_pool = self
    number = next(tasks) % self._max_workers
    if number == len(workers):
        prefix = self._thread_name_prefix or "ThreadPoolExecutor"
        worker = _Thread(name=f"{prefix}_{number}")
        _settle(worker)
        workers.append(_Worker(worker))
    work = functools.partial(fn, *args, **kwargs)
    call = functools.partial(_perform, self, workers[number], future, work)
    _schedule.pending.append(_Unit(workers[number].thread, call))
    return future


class _Worker:
    """A worker of a pool: the thread that its tasks run as."""

    def __init__(self, thread: Any) -> None:
        self.thread = thread
        self.is_new = True


def _perform(pool: Any, worker: _Worker, future: Any, work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        if worker.is_new:
            worker.is_new = False
            initializer, arguments = _initializer_of(pool)
            if initializer is not None:
                initializer(*arguments)
        value = work()
    except Unwinds:
        raise
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(value)


def _initializer_of(pool: Any) -> tuple[Callable[..., object] | None, tuple[Any, ...]]:
    return pool.__dict__.get("_wardian_initializer", (None, ()))  # type: ignore[no-any-return]


_init_pool = concurrent.futures.ThreadPoolExecutor.__init__


@functools.wraps(_init_pool)
def _new_pool(
    self: Any,
    max_workers: int | None = None,
    thread_name_prefix: str = "",
    initializer: Callable[..., object] | None = None,
    initargs: tuple[Any, ...] = (),
    **more: Any,
) -> None:
    if max_workers is None:
        max_workers = min(32, (os.cpu_count() or 1) + 4)
    _init_pool(self, max_workers, thread_name_prefix, initializer, initargs, **more)
    self._wardian_initializer = (initializer, initargs)


def _shutdown(self: Any, wait: bool = True, *, cancel_futures: bool = False) -> None:
    """Replaces `ThreadPoolExecutor.shutdown`."""
    self._shutdown = True
    own = [unit for unit in _schedule.pending if _pool_of(unit) is self]
    if cancel_futures:
        for unit in own:
            unit.call.args[2].cancel()  # type: ignore[attr-defined]
            unit.call.args[2].set_running_or_notify_cancel()  # type: ignore[attr-defined]
            _schedule.pending.remove(unit)
    elif wait:
        waits = any
        _schedule.wait(
            lambda: not waits(unit in own for unit in _schedule.pending), None, "its pool"
        )
    if wait or cancel_futures:
        for worker in self.__dict__.get("_workers", ()):
            worker.thread._turn = "done"
            threading._active.pop(worker.thread._ident, None)  # type: ignore[attr-defined]


def _pool_of(unit: _Unit) -> Any:
    arguments = getattr(unit.call, "args", ())
    return arguments[0] if getattr(unit.call, "func", None) is _perform else None


def _run_first(futures: Iterable[Any], is_over: Callable[[], bool]) -> None:
    """Runs the work of the pools that make these futures, in its order, before that of other threads.

    Other threads may need a lock that somebody holds who waits for one of the futures.
    """
    pools = {id(getattr(future, "_wardian_pool", None)) for future in futures} - {id(None)}
    while pools and not is_over():
        unit = next((unit for unit in _schedule.pending if id(_pool_of(unit)) in pools), None)
        if unit is None:
            return
        _schedule.run(unit)


_wait_for_futures = concurrent.futures.wait


@functools.wraps(_wait_for_futures)
def _wait_for(
    fs: Any, timeout: float | None = None, return_when: str = concurrent.futures.ALL_COMPLETED
) -> Any:
    futures = dict.fromkeys(fs)
    if timeout is None and return_when == concurrent.futures.FIRST_COMPLETED:
        _run_first(futures, lambda: any(future.done() for future in futures))
    elif timeout is None and return_when == concurrent.futures.ALL_COMPLETED:
        for future in futures:
            _run_first((future,), future.done)
    return _wait_for_futures(futures, timeout, return_when)


_result_of, _exception_of = concurrent.futures.Future.result, concurrent.futures.Future.exception


def _in_time(answer: Callable[..., Any]) -> Callable[..., Any]:
    """Raises `TimeoutError` for work that ran during the wait and ended after the timeout."""

    @functools.wraps(answer)
    def in_time(self: Any, timeout: float | None = None) -> Any:
        if timeout is None:
            _run_first((self,), self.done)
            return answer(self)
        if self.done():
            return answer(self, timeout)
        deadline = _now() + timeout
        value = answer(self, timeout)
        if _now() > deadline:
            raise TimeoutError()
        return value

    return in_time


class ThreadPool:
    """Replaces `multiprocessing.pool.ThreadPool`."""

    def __init__(
        self,
        processes: int | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: Iterable[Any] = (),
    ) -> None:
        count = processes if processes is not None else os.cpu_count() or 1
        if count < 1:
            raise ValueError("Number of processes must be at least 1")
        self._pool = concurrent.futures.ThreadPoolExecutor(
            count, "ThreadPool", initializer, tuple(initargs)
        )
        self._processes = count
        self._is_open = True

    def _all(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> list[Any]:
        if not self._is_open:
            raise ValueError("Pool not running")
        return [self._pool.submit(function, *arguments) for arguments in calls]

    def apply(self, func: Any, args: Any = (), kwds: Any = None) -> Any:
        """Calls `func` and returns its value."""
        return self.apply_async(func, args, kwds).get()

    def apply_async(
        self, func: Any, args: Any = (), kwds: Any = None, callback: Any = None,
        error_callback: Any = None,
    ) -> AsyncResult:
        """Calls `func` when it has its turn."""
        call = functools.partial(func, *args, **(kwds or {}))
        return AsyncResult(self._all(call, [()]), callback, error_callback, is_single=True)

    def map(self, func: Any, iterable: Any, chunksize: int | None = None) -> list[Any]:
        """Calls `func` for each item and returns the values."""
        return self.map_async(func, iterable).get()  # type: ignore[no-any-return]

    def map_async(
        self, func: Any, iterable: Any, chunksize: int | None = None, callback: Any = None,
        error_callback: Any = None,
    ) -> AsyncResult:
        """Calls `func` for each item when it has its turn."""
        futures = self._all(func, ((item,) for item in iterable))
        return AsyncResult(futures, callback, error_callback)

    def starmap(self, func: Any, iterable: Any, chunksize: int | None = None) -> list[Any]:
        """As `map`; each item has all arguments."""
        return self.starmap_async(func, iterable).get()  # type: ignore[no-any-return]

    def starmap_async(
        self, func: Any, iterable: Any, chunksize: int | None = None, callback: Any = None,
        error_callback: Any = None,
    ) -> AsyncResult:
        """As `map_async`; each item has all arguments."""
        futures = self._all(func, (tuple(item) for item in iterable))
        return AsyncResult(futures, callback, error_callback)

    def imap(self, func: Any, iterable: Any, chunksize: int = 1) -> Iterator[Any]:
        """Yields the values of `func`, in order."""
        futures = self._all(func, ((item,) for item in iterable))
        return (future.result() for future in futures)

    imap_unordered = imap

    def close(self) -> None:
        """Takes no more work."""
        self._is_open = False

    def terminate(self) -> None:
        """Takes no more work and cancels the work that has not begun."""
        self._is_open = False
        self._pool.shutdown(cancel_futures=True)

    def join(self) -> None:
        """Does all of the work."""
        if self._is_open:
            raise ValueError("Pool is still running")
        self._pool.shutdown()

    def __enter__(self) -> ThreadPool:
        return self

    def __exit__(self, *error: object) -> None:
        self.terminate()


class AsyncResult:
    """Replaces `multiprocessing.pool.AsyncResult`."""

    def __init__(
        self, futures: list[Any], callback: Any, error_callback: Any, is_single: bool = False
    ) -> None:
        self._futures = futures
        self._is_single = is_single
        self._callbacks = (callback, error_callback)
        self._left = len(futures)
        for future in futures:
            future.add_done_callback(self._one_done)
        if not futures:
            self._all_done()

    def _one_done(self, future: Any) -> None:
        self._left -= 1
        if not self._left and not future.cancelled():
            self._all_done()

    def _all_done(self) -> None:
        callback, error_callback = self._callbacks
        error = next((f.exception() for f in self._futures if f.exception()), None)
        if error is None and callback is not None:
            callback(self._value())
        elif error is not None and error_callback is not None:
            error_callback(error)

    def _value(self) -> Any:
        values = [future.result() for future in self._futures]
        return values[0] if self._is_single else values

    def get(self, timeout: float | None = None) -> Any:
        """Returns the value, or raises the exception of the work."""
        self.wait(timeout)
        if not self.ready():
            module = sys.modules.get("multiprocessing")
            raise getattr(module, "TimeoutError", TimeoutError)
        return self._value()

    def wait(self, timeout: float | None = None) -> None:
        """Waits for the work."""
        concurrent.futures.wait(self._futures, timeout)

    def ready(self) -> bool:
        """True if the work is done."""
        return not self._left

    def successful(self) -> bool:
        """True if it raised nothing."""
        if not self.ready():
            raise ValueError(f"{self!r} not ready")
        return all(future.exception() is None for future in self._futures)


def install() -> None:
    """Replaces the functions and classes of the library that need threads."""
    threads: Any = threading
    lowest: Any = _thread
    for name in ("Lock", "_allocate_lock"):
        setattr(threads, name, Lock)
    for name in ("allocate_lock", "allocate", "lock", "LockType"):
        setattr(lowest, name, Lock)
    # A function of a module is pickled by its name, and has to be the one that the name leads to.
    for module in (threads, lowest, reprlib):
        module.get_ident = get_ident  # type: ignore
    lowest.start_new_thread = lowest.start_new = _start_new_thread
    threads._start_new_thread = _start_new_thread
    threads.RLock = threads._RLock = threads._PyRLock
    for module in (lowest, functools, _threading_local):
        module.RLock = threads._PyRLock  # type: ignore
    threads._PyRLock.__name__ = threads._PyRLock.__qualname__ = "RLock"
    threads._PyRLock.__module__ = "_thread"
    acquire = threads._PyRLock.acquire

    def acquired(self: Any, blocking: bool = True, timeout: float = -1) -> bool:
        # The class in Python returns 1 when its owner acquires it again.
        return bool(acquire(self, blocking, timeout))

    acquired.__name__, acquired.__qualname__ = "acquire", "RLock.acquire"
    threads._PyRLock.acquire = threads._PyRLock.__enter__ = acquired
    threads.local = lowest._local = _threading_local.local
    _Thread.start, _Thread.join, _Thread.is_alive = _start, _join, _is_alive  # type: ignore
    _Thread.__repr__ = _repr  # type: ignore
    threads.Timer.run = _run_timer
    threads.Event.is_set = threads.Event.isSet = _is_set
    threads.Event.wait = _event_wait
    queue.SimpleQueue = queue._PySimpleQueue  # type: ignore
    sys.modules["_queue"].SimpleQueue = queue._PySimpleQueue  # type: ignore
    local_sockets.wait = _schedule.wait
    event_loop.run_thread = run_beside
    time.sleep = sleep  # type: ignore[assignment]
    pool: Any = concurrent.futures.ThreadPoolExecutor
    pool.__init__, pool.submit, pool.shutdown = _new_pool, _submit, _shutdown
    future: Any = concurrent.futures.Future
    concurrent.futures.wait = concurrent.futures._base.wait = _wait_for
    future.result, future.exception = _in_time(_result_of), _in_time(_exception_of)
