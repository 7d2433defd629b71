"""Pairs of connected sockets within the program, as `socket.socketpair` makes them."""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable

ROOM = 212_992
"""Bytes that wait for a reader at most, as Linux has it by default."""


class End:
    """One of the two ends: what its peer has sent to it, and its peer."""

    __slots__ = ("error", "has_ended", "is_closed", "keeps_messages", "messages", "peer", "size")

    def __init__(self, keeps_messages: bool) -> None:
        self.keeps_messages = keeps_messages
        self.messages: deque[memoryview] = deque()
        self.size = 0
        self.has_ended = self.is_closed = False  # reading it, and both directions
        self.error = 0
        self.peer: End = self

    @property
    def is_readable(self) -> bool:
        """True if reading does not wait."""
        return bool(self.messages or self.has_ended or self.error)

    @property
    def is_writable(self) -> bool:
        """True if writing does not wait."""
        return self.peer.is_closed or self.peer.has_ended or self.peer.size < ROOM

    @property
    def is_hung_up(self) -> bool:
        """True if the peer is closed."""
        return self.peer.is_closed

    def put(self, data: memoryview) -> int:
        """Takes bytes from the peer, and returns how many.

        Raises:
            BrokenPipeError: Nobody will read them.
        """
        if self.is_closed or self.has_ended:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        if self.keeps_messages:
            if len(data) > ROOM:
                raise OSError(errno.EMSGSIZE, "Message too long")
            if self.size and self.size + len(data) > ROOM:
                return -1
        else:
            data = data[: max(ROOM - self.size, 0)]
            if not data:
                return -1
        self.messages.append(memoryview(bytes(data)))
        self.size += max(len(data), 1)
        return len(data)

    def take(self, size: int, keep: bool) -> memoryview:
        """Returns what has come, at most `size` bytes; they stay there if `keep`.

        Raises:
            ConnectionResetError: The peer was closed before it had read everything.
        """
        if not self.messages:
            error, self.error = self.error, 0
            if error:
                raise ConnectionResetError(error, "Connection reset by peer")
            return memoryview(b"")
        if self.keeps_messages:
            return self._first(keep)[:size]
        if keep or len(self.messages) == 1 or len(self.messages[0]) >= size:
            first = self.messages[0]
            if not keep:
                self._drop(min(size, len(first)))
            return first[:size]
        whole = bytearray()
        while self.messages and len(whole) < size:
            part = self.messages[0][: size - len(whole)]
            whole += part
            self._drop(len(part))
        return memoryview(whole)

    def _first(self, keep: bool) -> memoryview:
        first = self.messages[0]
        if not keep:
            self.messages.popleft()
            self.size -= max(len(first), 1)
        return first

    def _drop(self, count: int) -> None:
        first = self.messages.popleft()
        self.size -= count
        if count < len(first):
            self.messages.appendleft(first[count:])

    def end_writing(self) -> None:
        """Lets the peer read no more than what was sent."""
        if not self.keeps_messages:
            self.peer.has_ended = True

    def end_reading(self) -> None:
        """Refuses what the peer still sends."""
        self.has_ended = True

    def close(self) -> None:
        """Ends both directions."""
        self.is_closed = True
        if not self.keeps_messages:
            self.peer.has_ended = True
            if self.messages:
                self.peer.error = errno.ECONNRESET
        self.messages.clear()
        self.size = 0


def pair(keeps_messages: bool) -> tuple[End, End]:
    """Returns two ends that are connected with each other."""
    one, other = End(keeps_messages), End(keeps_messages)
    one.peer, other.peer = other, one
    return one, other


def _wait(is_over: Callable[[], bool], timeout: float | None, what: str) -> bool:
    raise RuntimeError("threads are not installed")


wait = _wait
"""Lets the threads of the program run until something is over, as `threads` does."""
