"""Threads of anyio, in an interpreter without any.

Functions for worker threads run in place, in the loop that asks for them. A *portal* is the event loop of
another thread; here its loop runs while somebody waits for one of its calls, in the thread that waits.
Test clients of Starlette and FastAPI call their applications through one.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import Context, copy_context
from typing import Any

from _wardian import readiness
from _wardian.apart import apart

_WAITS_FOR_EVER = (
    "this call waits for ever: no task of its event loop can go on, and no timer is set (the loop has "
    "no thread of its own in the sandbox: it runs while a call waits)"
)

_idents = itertools.count(-2, -1)
"""What portals call the threads of their loops. No thread is called so."""


class _Loop:
    """The event loop of a portal, which runs while it is driven."""

    def __init__(self) -> None:
        self.loop: Any = asyncio.new_event_loop()
        self.is_driven = False

    def drive(self, future: Future[Any] | None = None) -> None:
        """Runs what is ready, and with a future everything until it is done or nothing can go on."""
        if self.is_driven:
            return
        self.is_driven = True
        try:
            with apart():  # from the loop of a test, for example, that is itself a coroutine
                if future is None:
                    while self.loop._ready:
                        self.loop.call_soon(self.loop.stop)
                        self.loop.run_forever()
                else:
                    self._run_until(future)
        finally:
            self.is_driven = False

    def _run_until(self, future: Future[Any]) -> None:
        future.add_done_callback(lambda _future: self.loop.stop())
        try:
            if not future.done():
                self.loop.run_forever()
        except RuntimeError as error:
            if error.args != (readiness.WAITS_FOR_EVER,):
                raise


class _Waiters(list[Any]):
    """Those that wait for a future: as the first one comes, the loop is to run until it is done."""

    def __init__(self, future: _DrivenFuture) -> None:
        super().__init__()
        self._future = future

    def append(self, waiter: Any) -> None:
        """Adds one."""
        super().append(waiter)
        threading.Thread(target=self._future.drive, daemon=True).start()


class _DrivenFuture(Future[Any]):
    """The result of a call, whose loop runs while somebody waits for it."""

    def __init__(self, loop: _Loop) -> None:
        super().__init__()
        self._loop = loop
        self._waiters = _Waiters(self)

    def drive(self) -> None:
        """Runs the loop until the call is over or nothing can go on."""
        if not self.done():
            self._loop.drive(self)

    def result(self, timeout: float | None = None) -> Any:
        """Returns the result.

        Raises:
            RuntimeError: Nothing can ever make one.
        """
        self._wait(timeout)
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Returns the exception of the call, if it has raised one.

        Raises:
            RuntimeError: It can never end.
        """
        self._wait(timeout)
        return super().exception(timeout)

    def _wait(self, timeout: float | None) -> None:
        self.drive()
        if timeout is None and not self.done():
            raise RuntimeError(_WAITS_FOR_EVER)


def _inside(context: Context) -> Context:
    """The context of code that runs in a loop of asyncio, as anyio marks it."""
    context.run(sys.modules["anyio._core._eventloop"].set_current_async_library, "asyncio")  # type: ignore[attr-defined]
    return context


def open_portals(module: Any) -> None:
    """Gives `anyio.from_thread` portals without threads."""
    native = module.BlockingPortal

    class BlockingPortal(native):  # type: ignore[misc]
        """As anyio's, for a loop that runs while a call waits."""

        _driven: _Loop | None = None

        def _check_running(self) -> None:
            if self._driven is None:
                super()._check_running()
            elif self._event_loop_thread_id is None:
                raise RuntimeError("This portal is not running")
            elif self._driven.is_driven:
                raise RuntimeError("This method cannot be called from the event loop thread")

        def start_task_soon(self, func: Any, *args: Any, name: object = None) -> Any:
            if self._driven is None:
                return super().start_task_soon(func, *args, name=name)
            self._check_running()
            return self._begin(func, args, {}, name)

        def start_task(self, func: Any, *args: Any, name: object = None) -> Any:
            if self._driven is None:
                return super().start_task(func, *args, name=name)
            self._check_running()
            started = _DrivenFuture(self._driven)

            def ended(future: Future[Any]) -> None:
                if started.done():
                    return
                if future.cancelled():
                    started.cancel()
                elif future.exception(0) is not None:
                    started.set_exception(future.exception(0))
                else:
                    text = "Task exited without calling task_status.started()"
                    started.set_exception(RuntimeError(text))

            status = module._BlockingPortalTaskStatus(started)
            future = self._begin(func, args, {"task_status": status}, name)
            future.add_done_callback(ended)
            return future, started.result()

        def _begin(self, func: Any, args: Any, named: dict[str, Any], name: object) -> _DrivenFuture:
            driven: Any = self._driven
            future = _DrivenFuture(driven)

            def start() -> None:
                self._task_group.start_soon(self._call_func, func, args, named, future, name=name)

            driven.loop.call_soon(start, context=_inside(copy_context()))
            return future

    BlockingPortal.__module__, BlockingPortal.__qualname__ = module.__name__, "BlockingPortal"

    @contextmanager
    def start_blocking_portal(
        backend: str = "asyncio",
        backend_options: dict[str, Any] | None = None,
        *,
        name: str | None = None,
    ) -> Iterator[Any]:
        if backend != "asyncio":
            raise LookupError(f"No such backend: {backend}")
        driven = _Loop()
        ready = _DrivenFuture(driven)

        async def run_portal() -> None:
            try:
                async with BlockingPortal() as portal:
                    portal._driven, portal._event_loop_thread_id = driven, next(_idents)
                    ready.set_result(portal)
                    await portal.sleep_until_stopped()
            except BaseException as error:
                if ready.done():
                    raise
                ready.set_exception(error)

        task = driven.loop.create_task(run_portal(), context=_inside(Context()))
        over = _DrivenFuture(driven)
        task.add_done_callback(lambda _task: over.set_result(None))
        portal = ready.result()
        cancels = False
        try:
            yield portal
        except BaseException:
            cancels = True
            raise
        finally:
            try:
                portal.call(portal.stop, cancels)
            except RuntimeError:
                pass
            over.drive()
            driven.loop.close()

    module.BlockingPortal = BlockingPortal
    module.start_blocking_portal = start_blocking_portal
    package = sys.modules.get("anyio.abc")  # which has it already
    if package is not None:
        package.BlockingPortal = BlockingPortal  # type: ignore[attr-defined]


def run_in_place(module: Any) -> None:
    """Lets anyio run functions for worker threads in the loop that asks for them."""
    backend = module.AsyncIOBackend

    async def run_sync_in_worker_thread(
        cls: Any,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        abandon_on_cancel: bool = False,
        limiter: Any = None,
    ) -> Any:
        await cls.checkpoint()
        async with limiter or cls.current_default_thread_limiter():
            with module.CancelScope(shield=not abandon_on_cancel):
                context = copy_context()
                context.run(module.set_current_async_library, None)
                return await asyncio.get_running_loop().run_in_executor(
                    None, lambda: context.run(func, *args)
                )

    backend.run_sync_in_worker_thread = classmethod(run_sync_in_worker_thread)
