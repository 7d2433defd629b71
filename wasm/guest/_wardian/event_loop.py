"""An asyncio event loop without sockets, threads and signals.

The loop of the standard library wakes itself through a pair of sockets and runs blocking calls in
threads; WASI has neither. Here an idle loop sleeps until its next timer, and `asyncio.to_thread`
runs its function in place. Correct programs stay correct and only run without parallelism.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable
from types import CoroutineType
from typing import Any

from _wardian import clock

_sleep = clock.sleep
_run = asyncio.run


class _Clock:
    """Replaces the selector of the loop: there are no files to watch, so it only waits."""

    def select(self, timeout: float | None) -> tuple[()]:
        """Sleeps for `timeout` seconds.

        Raises:
            RuntimeError: There is no timer either, so nothing could ever wake the loop.
        """
        if timeout is None:
            raise RuntimeError(
                "this program waits for ever: no task can go on and no timer is set "
                "(there are no sockets, threads or signals in the sandbox)"
            )
        if timeout > 0:
            _sleep(timeout)
        return ()


class SandboxEventLoop(asyncio.BaseEventLoop):
    """Runs tasks, timers, queues and locks; refuses sockets, pipes and processes."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = _Clock()

    def __del__(self) -> None:
        """Does not warn about a loop that was not closed: it holds no files and no threads."""

    def _process_events(self, event_list: object) -> None:
        """There are no events but timers."""

    def _write_to_self(self) -> None:
        """Does nothing: with one thread, nothing else has to wake the loop."""

    async def _refuse_network(self, *args: Any, **kwargs: Any) -> Any:
        raise OSError(
            errno.ENETUNREACH,
            "there is no network in the sandbox: pass the data in `args`, or as a blob in "
            "`input_blobs`",
        )

    async def _refuse_process(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "no other program can run in the sandbox: use Python's library instead"
        )

    create_connection = create_server = create_datagram_endpoint = _refuse_network
    getaddrinfo = getnameinfo = _refuse_network
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
