"""Server-sent events, as the server sends them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from wardian._wire import BadAnswer


class Event(NamedTuple):
    """One event."""

    name: str
    data: str


class EventReader:
    """Finds the events in pieces of a stream.

    Lines end with a line feed, optionally after a carriage return. No other separator ends a line,
    since the output of programs may contain them.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The events that end in this piece."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            event = self._read(_decoded(line.removesuffix(b"\r")))
            if event is not None:
                yield event

    def _read(self, line: str) -> Event | None:
        if not line:
            event = Event(self._name or "message", "\n".join(self._data)) if self._data else None
            self._name, self._data = "", []
            return event
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
        return None


def _decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as fault:
        raise BadAnswer(f"the events are not UTF-8: {fault}") from fault
