"""The asyncio event loop for a world with connections, but without threads.

It is the standard library's loop for selectors. That one is woken through a pair of sockets and runs
blocking calls in threads; here nobody could wake it, and there are no threads. Here a loop with nothing to do waits for its next
timer or its connections, and `asyncio.to_thread` runs its function in place, so that correct
programs stay correct and only lose parallelism that the sandbox does not have.
"""

from __future__ import annotations

import asyncio
import asyncio.selector_events
import errno
import functools
import inspect
import selectors
import signal
import time
from collections.abc import Awaitable, Callable
from types import CoroutineType
from typing import Any

from _wardian import clock, network, readiness, timers, trace
from _wardian.apart import apart

_sleep = clock.sleep
_now = time.monotonic
_run = asyncio.run


def _no_thread(timeout: float | None) -> bool:
    return False


run_thread: Callable[[float | None], bool] = _no_thread
"""Runs a started thread while a loop waits, at most for `timeout` seconds; False if there is none to run. `threads`
provides it."""


class _Selector(selectors.PollSelector):
    """Watches connections; without any, it only sleeps."""

    _selector_cls = readiness.Poll

    idle: Callable[[bool], float | None] | None = None
    """Is called before the loop waits, with whether it has connections. It returns the most seconds to
    wait, or nothing if it has no opinion; with zero, the loop goes on at once."""

    last_event = 0.0
    """When a connection was ready, on the monotonic clock."""

    def select(self, timeout: float | None = None) -> Any:
        """Waits until a connection is ready or `timeout` seconds are over.

        Raises:
            RuntimeError: There is neither, so nothing could ever wake the loop.
        """
        if self.idle is not None and timeout != 0:
            most = self.idle(bool(self.get_map()))
            if most is not None:
                timeout = most if timeout is None else min(most, timeout)
        if timeout != 0 and run_thread(0.0 if timeout is None and self.get_map() else timeout):
            return ()  # it may have woken a task
        if self.get_map():
            events = super().select(timeout)
            if events:
                self.last_event = _now()
            return events
        if timeout is None:
            if not timers.wait(_sleep):
                raise RuntimeError(readiness.WAITS_FOR_EVER)
        elif timeout > 0 and not (0 < timers.rest()[0] < timeout and timers.wait(_sleep)):
            _sleep(timeout)
        return ()


def _no_children(*args: Any, **options: Any) -> Any:
    raise OSError(errno.ENOTSUP, "no child process can run here")


new_child: Callable[..., Any] = _no_children
"""Makes the transport of a child process. `shells`, which builds on this module, provides it."""


class SandboxEventLoop(asyncio.selector_events.BaseSelectorEventLoop):
    """Runs tasks, timers and connections; refuses servers, pipes and processes."""

    def __init__(self) -> None:
        super().__init__(_Selector())
        self._signals: dict[int, Any] = {}

    def __del__(self) -> None:
        """Does not warn about a loop that was not closed: it holds no files and no threads."""

    def run_until_complete(self, future: Any) -> Any:
        """Runs until a future is done. An error while it waits says where that is."""
        try:
            return super().run_until_complete(future)
        except BaseException as error:
            if isinstance(future, asyncio.Task) and not future.done():
                trace.show_wait(error, future)
            raise

    def run_until_idle(self, task: asyncio.Task[Any], idle: Callable[[bool], float | None]) -> bool:
        """Runs until a task of the loop is done, or `idle` stops the loop. Returns whether it is done.

        Raises:
            BaseException: An end of the program that came up in a task.
        """
        selector: Any = self._selector  # type: ignore[attr-defined]
        selector.idle, selector.last_event = idle, _now()
        task.add_done_callback(_stop_loop_of)
        try:
            self.run_forever()
        except BaseException as error:
            if not task.done():
                trace.show_wait(error, task)
            raise
        finally:
            selector.idle = None
            task.remove_done_callback(_stop_loop_of)
        return task.done()

    def _make_self_pipe(self) -> None:
        """Nobody else could wake the loop: there is one thread."""

    _close_self_pipe = _write_to_self = _make_self_pipe

    async def _refuse_server(self, *args: Any, **kwargs: Any) -> Any:
        raise OSError(errno.ENOTSUP, network.NO_SERVERS)

    async def _refuse_datagrams(self, *args: Any, **kwargs: Any) -> Any:
        raise OSError(errno.EPROTONOSUPPORT, network.NO_DATAGRAMS)

    async def subprocess_exec(  # type: ignore[override]
        self, protocol_factory: Callable[[], Any], program: Any, *args: Any, **options: Any
    ) -> tuple[Any, Any]:
        """Starts a child process: see `shells`."""
        protocol = protocol_factory()
        options["shell"] = False
        return new_child(self, protocol, [program, *args], **options), protocol

    async def subprocess_shell(  # type: ignore[override]
        self, protocol_factory: Callable[[], Any], cmd: Any, **options: Any
    ) -> tuple[Any, Any]:
        """Starts a shell: see `shells`."""
        if not isinstance(cmd, (str, bytes)):
            raise ValueError("cmd must be a string")
        if not options.setdefault("shell", True):
            raise ValueError("shell must be True")
        protocol = protocol_factory()
        return new_child(self, protocol, cmd, **options), protocol

    def add_signal_handler(self, sig: int, callback: Callable[..., Any], *args: Any) -> None:
        """Calls `callback` in the loop after each such signal."""
        if inspect.iscoroutine(callback) or inspect.iscoroutinefunction(callback):
            raise TypeError("coroutines cannot be used with add_signal_handler()")
        self._check_closed()  # type: ignore[attr-defined]
        if sig in (signal.SIGKILL, signal.SIGSTOP):
            raise RuntimeError(f"sig {sig} cannot be caught")
        self._signals[sig] = signal.signal(
            sig, lambda signalnum, frame: self.call_soon(callback, *args) and None
        )

    def close(self) -> None:
        """Closes the loop, which hears no signals any more."""
        super().close()
        for sig in list(self._signals):
            self.remove_signal_handler(sig)

    def remove_signal_handler(self, sig: int) -> bool:
        """Restores the default; false if there was no handler."""
        if self._signals.pop(sig, self) is self:
            return False
        signal.signal(sig, signal.default_int_handler if sig == signal.SIGINT else signal.SIG_DFL)
        return True

    create_server = create_unix_server = create_unix_connection = _refuse_server
    create_datagram_endpoint = _refuse_datagrams

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Runs `func` in place at the loop's next step, as there are no threads."""
        future = self.create_future()

        def step() -> None:
            if future.cancelled():
                return
            try:
                with apart():
                    value = func(*args)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(value)

        self.call_soon(step)
        return future


def _stop_loop_of(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and isinstance(task.exception(), (SystemExit, KeyboardInterrupt)):
        return  # it comes out of the loop by itself
    task.get_loop().stop()


def is_awaitable(value: object) -> bool:
    """True for a coroutine of an `async def` entrypoint, and for other awaitables."""
    return type(value) is CoroutineType or hasattr(type(value), "__await__")


def run(awaitable: Awaitable[Any]) -> Any:
    """Awaits `awaitable` in a new loop and returns its value."""
    if type(awaitable) is CoroutineType:
        return _run(awaitable)
    return _run(_await(awaitable))


async def _await(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def install() -> None:
    """Makes this the loop of `asyncio.run`, `asyncio.new_event_loop` and `asyncio.Runner`."""
    type(_policy())._loop_factory = SandboxEventLoop
    for module in (asyncio, asyncio.unix_events):
        for name in ("SelectorEventLoop", "EventLoop"):
            if hasattr(module, name):
                setattr(module, name, SandboxEventLoop)
    provide_loop()


def provide_loop(loop: asyncio.AbstractEventLoop | None = None) -> None:
    """Makes a loop the current one, for the old `get_event_loop().run_until_complete(...)`.

    Python has removed this, but programs still use it. Every `asyncio.run` removes the loop.
    """
    _policy().set_event_loop(loop or SandboxEventLoop())


def provided_loop() -> asyncio.AbstractEventLoop | None:
    """Returns the current loop, if there is one."""
    return getattr(_policy()._local, "_loop", None)


_create_task: Any = asyncio.create_task


def lend_loop(current: Callable[[], asyncio.AbstractEventLoop] | None) -> None:
    """Lets `asyncio.create_task` work while no loop runs: the task then waits in that of `current`.

    Without a `current`, the function is Python's own again.
    """
    tasks: Any = asyncio.tasks
    tasks.create_task = asyncio.create_task = _create_task
    if current is None:
        return

    @functools.wraps(_create_task)
    def create_task(coro: Any, **options: Any) -> Any:
        if asyncio._get_running_loop() is None:
            return current().create_task(coro, **options)
        return _create_task(coro, **options)

    tasks.create_task = asyncio.create_task = create_task


def _policy() -> Any:
    events: Any = asyncio.events
    find = getattr(events, "_get_event_loop_policy", None) or events.get_event_loop_policy
    return find()
