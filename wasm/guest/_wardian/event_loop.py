"""The asyncio event loop for a world with connections, but without threads and signals.

It is the standard library's loop for selectors. That one wakes itself through a pair of sockets and
runs blocking calls in threads; there is neither. Here a loop with nothing to do waits for its next
timer or its connections, and `asyncio.to_thread` runs its function in place, so that correct
programs stay correct and only lose parallelism that the sandbox does not have.
"""

from __future__ import annotations

import asyncio
import asyncio.selector_events
import errno
import selectors
from collections.abc import Awaitable, Callable
from types import CoroutineType
from typing import Any

from _wardian import clock, network, programs, readiness

_sleep = clock.sleep
_run = asyncio.run


class _Selector(selectors.PollSelector):
    """Watches connections; without any, it only sleeps."""

    _selector_cls = readiness.Poll

    def select(self, timeout: float | None = None) -> Any:
        """Waits until a connection is ready or `timeout` seconds are over.

        Raises:
            RuntimeError: There is neither, so nothing could ever wake the loop.
        """
        if self.get_map():
            return super().select(timeout)
        if timeout is None:
            raise RuntimeError(readiness.WAITS_FOR_EVER)
        if timeout > 0:
            _sleep(timeout)
        return ()


class SandboxEventLoop(asyncio.selector_events.BaseSelectorEventLoop):
    """Runs tasks, timers and connections; refuses servers, pipes and processes."""

    def __init__(self) -> None:
        super().__init__(_Selector())

    def __del__(self) -> None:
        """Does not warn about a loop that was not closed: it holds no files and no threads."""

    def _make_self_pipe(self) -> None:
        """Nobody else could wake the loop: there is one thread."""

    _close_self_pipe = _write_to_self = _make_self_pipe

    async def _refuse_server(self, *args: Any, **kwargs: Any) -> Any:
        raise OSError(errno.ENOTSUP, network.NO_SERVERS)

    async def _refuse_datagrams(self, *args: Any, **kwargs: Any) -> Any:
        raise OSError(errno.EPROTONOSUPPORT, network.NO_DATAGRAMS)

    async def _refuse_process(self, protocol: Any, *args: Any, **kwargs: Any) -> Any:
        raise programs.missing(args)

    create_server = create_unix_server = create_unix_connection = _refuse_server
    create_datagram_endpoint = _refuse_datagrams
    subprocess_exec = subprocess_shell = _refuse_process

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Runs `func` in place at the loop's next step, as there are no threads."""
        future = self.create_future()

        def step() -> None:
            if future.cancelled():
                return
            try:
                value = func(*args)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(value)

        self.call_soon(step)
        return future


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


def provide_loop() -> None:
    """Makes a loop the current one, for the old `get_event_loop().run_until_complete(...)`.

    Python has removed this, but programs still use it. Every `asyncio.run` removes the loop.
    """
    _policy().set_event_loop(SandboxEventLoop())


def _policy() -> Any:
    events: Any = asyncio.events
    find = getattr(events, "_get_event_loop_policy", None) or events.get_event_loop_policy
    return find()
