"""`select.poll` and `select.select` for connections and files.

Files of the sandbox never make anybody wait, so they are asked first, by the interpreter's own
functions; connections are asked for with one request to the host.
"""

from __future__ import annotations

import select
from collections.abc import Iterable
from typing import Any

from _wardian import clock, local_sockets, network, timers
from _wardian.sockets import FIRST_DESCRIPTOR, Stream, streams

_READ, _WRITE = select.POLLIN, select.POLLOUT
_FAILED = select.POLLHUP | select.POLLERR | select.POLLNVAL
_real_poll = select.poll
_real_select = select.select
_sleep = clock.sleep

WAITS_FOR_EVER = (
    "this program waits for ever: no task can go on, no timer is set and no connection is open "
    "(there are no threads or signals in the sandbox)"
)


class Poll:
    """What `select.poll()` returns."""

    def __init__(self) -> None:
        self._masks: dict[int, int] = {}

    def register(
        self, fd: Any, eventmask: int = _READ | _WRITE | select.POLLPRI, /
    ) -> None:
        """Watches a file or a connection."""
        self._masks[_descriptor(fd)] = eventmask

    def modify(self, fd: Any, eventmask: int, /) -> None:
        """Changes what a file or a connection is watched for."""
        descriptor = _descriptor(fd)
        if descriptor not in self._masks:
            raise FileNotFoundError(2, "No such file or directory")
        self._masks[descriptor] = eventmask

    def unregister(self, fd: Any, /) -> None:
        """Watches it no more."""
        del self._masks[_descriptor(fd)]

    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]:
        """Waits for so many milliseconds, without end if it is `None` or negative."""
        seconds = None if timeout is None or timeout < 0 else timeout / 1000
        return wait(self._masks, seconds)


def _descriptor(file: Any) -> int:
    number = file if isinstance(file, int) else file.fileno()
    if not isinstance(number, int):
        raise TypeError("argument must be an int, or have a fileno() method.")
    if number < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({number})")
    return number


def wait(masks: dict[int, int], timeout: float | None) -> list[tuple[int, int]]:
    """Waits until a descriptor is ready. Returns which are, each with what it is ready for.

    Raises:
        RuntimeError: There is neither a descriptor nor an end of the time, so it would never end.
    """
    ready: list[tuple[int, int]] = []
    wishes: dict[int, int] = {}  # mask of the host by handle
    watched: list[tuple[int, int, int]] = []
    local: list[_Local] = []
    files = _real_poll()
    has_files = False
    for descriptor, mask in masks.items():
        if descriptor < FIRST_DESCRIPTOR:
            files.register(descriptor, mask)
            has_files = True
            continue
        stream = streams.get(descriptor)
        if stream is None:
            ready.append((descriptor, select.POLLNVAL))
        elif stream.end is not None:
            local.append((descriptor, stream, mask))
        elif stream.handle is None:
            ready.append((descriptor, mask & _WRITE | select.POLLHUP))
        else:
            known = _READ if mask & _READ and stream.is_readable else 0
            wanted = (network.READ if mask & _READ and not known else 0) | (
                network.WRITE if mask & _WRITE else 0
            )
            watched.append((descriptor, stream.handle, known))
            wishes[stream.handle] = wishes.get(stream.handle, 0) | wanted
    if has_files:
        ready += files.poll(0)
    if local:
        ready += _ready_ends(local)
        if not ready and not watched and not has_files:
            return _wait_for_ends(local, timeout)
    is_ready = bool(ready) or any(known for _, _, known in watched)
    ready += _ask(wishes, watched, masks, 0.0 if is_ready else timeout)
    if not ready and not any(wishes.values()):
        if timeout is None and not has_files:
            if not timers.wait(_sleep):
                raise RuntimeError(WAITS_FOR_EVER)
            return wait(masks, timeout)
        if has_files:
            for part, is_last in timers.parts(timeout):
                ready = files.poll(None if part is None else part * 1000)
                if ready or is_last:
                    break
            return ready
        if timeout:
            _sleep(timeout)
    return ready


_Local = tuple[int, Stream, int]
"""A descriptor, its end of a pair, and what it is watched for."""


def _ready_ends(local: list[_Local]) -> list[tuple[int, int]]:
    ready = []
    for descriptor, stream, mask in local:
        end: Any = stream.end
        events = (_READ if stream.is_readable else 0) | (_WRITE if end.is_writable else 0)
        events = events & mask | (select.POLLHUP if end.is_hung_up else 0)
        if events:
            ready.append((descriptor, events))
    return ready


def _wait_for_ends(local: list[_Local], timeout: float | None) -> list[tuple[int, int]]:
    """Lets the threads of the program run, which alone could change a pair."""
    if timeout != 0:
        local_sockets.wait(lambda: bool(_ready_ends(local)), timeout, "a pair of sockets")
    return _ready_ends(local)


def _ask(
    wishes: dict[int, int],
    watched: list[tuple[int, int, int]],
    masks: dict[int, int],
    timeout: float | None,
) -> Iterable[tuple[int, int]]:
    """Asks the host for the connections that something is wanted of."""
    asked = [(handle, mask) for handle, mask in wishes.items() if mask]
    answers = network.poll(asked, timeout) if asked else []
    found = {handle: mask for (handle, _), mask in zip(asked, answers, strict=True)}
    for descriptor, handle, known in watched:
        mask = found.get(handle, 0)
        events = known | (_READ if mask & network.READ else 0)
        events = (events | (_WRITE if mask & network.WRITE else 0)) & (masks[descriptor] | _FAILED)
        if events:
            yield descriptor, events


def select_files(
    rlist: Any, wlist: Any, xlist: Any, timeout: float | None = None, /
) -> tuple[list[Any], list[Any], list[Any]]:
    """Waits as `select.select` does."""
    reading, writing, exceptional = list(rlist), list(wlist), list(xlist)
    masks: dict[int, int] = {}
    for files, mask in ((reading, _READ), (writing, _WRITE)):
        for file in files:
            descriptor = _descriptor(file)
            masks[descriptor] = masks.get(descriptor, 0) | mask
    if not any(descriptor >= FIRST_DESCRIPTOR for descriptor in masks):
        if timeout is not None and (not isinstance(timeout, (int, float)) or timeout < 0):
            return _real_select(reading, writing, exceptional, timeout)
        for part, is_last in timers.parts(timeout):
            found = _real_select(reading, writing, exceptional, part)
            if is_last or any(found):
                break
        return found
    if timeout is not None and timeout < 0:
        raise ValueError("timeout must be non-negative")
    ready = dict(wait(masks, timeout))
    if any(mask & select.POLLNVAL for mask in ready.values()):
        raise OSError(9, "Bad file descriptor")
    return (
        [file for file in reading if ready.get(_descriptor(file), 0) & (_READ | _FAILED)],
        [file for file in writing if ready.get(_descriptor(file), 0) & (_WRITE | _FAILED)],
        [],
    )


def install() -> None:
    """Replaces what `select` offers. Comes before anything imports `selectors`."""
    select_files.__name__ = select_files.__qualname__ = "select"
    select.poll, select.select = Poll, select_files  # type: ignore[assignment, misc]
