"""The network as a run has it: connections of the gateway, asked for through the door.

A connection is a handle of the gateway. It carries HTTP/1.1, which the gateway reads, checks against
the rules for this run and passes on; TLS is spoken by the gateway (see `tls`). Every failure is an
`OSError` with a number of Linux. This module only knows requests and answers.
"""

from __future__ import annotations

import errno
import math
import os
import time
from collections.abc import Iterable

from _wardian import clock, door, timers

READ, WRITE = 1, 2
"""Bits of a mask: what a connection is asked for, and what it is ready for."""

READ_MAX = 1 << 20
WRITE_MAX = 1 << 18
"""Most bytes that one request moves; the host refuses longer ones."""

NO_NETWORK = (
    "there is no network in the sandbox: pass the data in `args`, or as a blob in `input_blobs`"
)
WHO_GRANTS = "; only the server's operator can grant code a network (`network.code`)"
NO_SERVERS = (
    "a program in the sandbox cannot be a server: nothing on the network reaches it; "
    "handle the data of this run and return the result"
)
NO_PEERS = "there are no other programs in the sandbox that could listen there"
NO_DATAGRAMS = "only HTTP leaves the sandbox: there is no network for datagrams"

_OPERATION = b"\x09"
_RESOLVE, _START, _POLL, _READ, _WRITE, _CLOSE = (
    _OPERATION + bytes([number]) for number in range(1, 7)
)
_FOR_EVER = (1 << 32) - 1
_BYTES, _END, _NOTHING = 0, 1, 2
_FAILED = 1

_now = time.monotonic


def refusal_advice(target: str | None = None) -> str:
    """Says why there is no network in this run, and what to do about it.

    A skill gets a network by its manifest, other code by the operator alone.
    """
    program = door.job.get("program", {})
    skill = program.get("skill") if isinstance(program, dict) else None
    if skill is None:
        asked = "" if target is None else f" (asked for {target})"
        return f"{NO_NETWORK}{asked}{WHO_GRANTS}"
    pattern = f"https://{target}" if target is not None else "https://HOST"
    return (
        f"the skill `{skill['name']}` has no network: add `network = [\"{pattern}\"]` to "
        "`[permissions]` in its skill.toml, or pass the data in `args` or as a blob"
    )


def no_network(advice: str) -> OSError:
    """The exception of a run that has no network at all."""
    error = OSError(errno.ENETUNREACH, advice)
    error.has_no_network = True  # type: ignore[attr-defined]
    return error


def has_no_network(error: OSError) -> bool:
    """True if the host said that this run has no network at all.

    The number alone does not say so: a host of the world can be unreachable, too.
    """
    return getattr(error, "has_no_network", False)


def resolve(name: str) -> None:
    """Asks whether a name may be looked up and exists.

    Raises:
        OSError: It does not, or this run may not reach it.
    """
    _ask(_RESOLVE + name.encode(), name)


def start(name: str, port: int) -> int:
    """Begins to connect to a host, given by its name, and returns the handle at once.

    Raises:
        OSError: This run may not reach it; the message names the rule.
    """
    request = _START + port.to_bytes(2, "little") + name.encode()
    return int.from_bytes(_ask(request, name), "little")


def poll(wishes: list[tuple[int, int]], timeout: float | None) -> list[int]:
    """Waits until one of the connections is ready; returns what each is ready for.

    `wishes` are pairs of a handle and a mask. The answer has a mask for each of them.
    """
    watched = b"".join([handle.to_bytes(4, "little") + bytes([mask]) for handle, mask in wishes])
    answer: list[int] = []
    for part, is_last in _parts(timeout):
        answer = list(_wait(_POLL + _milliseconds(part) + watched, part))
        if is_last or any(answer):
            break
    return answer


def read(handle: int, size: int, timeout: float | None) -> bytes | None:
    """Reads at most `size` bytes: `None` if none came in time, no bytes at the end."""
    size = min(size, READ_MAX)
    request = _READ + handle.to_bytes(4, "little") + size.to_bytes(4, "little")
    answer = bytes([_NOTHING])
    for part, is_last in _parts(timeout):
        answer = _wait(request + _milliseconds(part), part)
        if is_last or answer[0] != _NOTHING:
            break
    if answer[0] == _BYTES:
        return answer[1:]
    return None if answer[0] == _NOTHING else b""


def write(handle: int, data: bytes | memoryview) -> int:
    """Hands over as many bytes as the connection takes, and returns how many that are.

    Without any bytes it tells how connecting went.
    """
    request = b"".join((_WRITE, handle.to_bytes(4, "little"), data[:WRITE_MAX]))
    return int.from_bytes(_ask(request), "little")


def close(handle: int) -> None:
    """Ends a connection."""
    _ask(_CLOSE + handle.to_bytes(4, "little") + b"\0")


def close_writing(handle: int) -> None:
    """Says that nothing more will be written."""
    _ask(_CLOSE + handle.to_bytes(4, "little") + b"\1")


def _ask(request: bytes, target: str | None = None) -> bytes:
    answer = door.ask(request)
    if answer[0] != _FAILED:
        return answer[1:]
    number, text = int.from_bytes(answer[1:3], "little"), answer[3:].decode("utf-8", "replace")
    if number == errno.ENETUNREACH and not text:
        raise no_network(refusal_advice(target))
    raise OSError(number, text or os.strerror(number))


def _parts(timeout: float | None) -> Iterable[tuple[float | None, bool]]:
    return timers.parts(timeout) if timers.is_used else ((timeout, True),)


def _wait(request: bytes, timeout: float | None) -> bytes:
    """Asks, and counts the time until the answer as slept."""
    if timeout is not None and timeout <= 0:
        return _ask(request)
    start = _now()
    try:
        return _ask(request)
    finally:
        clock.add_slept(_now() - start)


def _milliseconds(timeout: float | None) -> bytes:
    """A time to wait as the host reads it: rounded up, so that no wait ends early."""
    if timeout is None:
        number = _FOR_EVER
    else:
        number = min(math.ceil(max(timeout, 0.0) * 1000), _FOR_EVER - 1)
    return number.to_bytes(4, "little")
