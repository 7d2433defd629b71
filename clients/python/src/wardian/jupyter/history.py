"""The cells that a kernel has run, for the history of Jupyter's prompts."""

from __future__ import annotations

from collections import deque
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

ENTRIES_MAX = 1_000
"""Most entries that are kept. The oldest go first."""

SESSION = 0
"""The number by which prompts ask for the history of the running kernel."""


class Entry(NamedTuple):
    """A cell."""

    number: int
    source: str
    value: str | None
    """The text of its value."""


class History:
    """The cells in their order."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=ENTRIES_MAX)

    def add(self, number: int, source: str, value: str | None) -> None:
        """Adds a cell."""
        self._entries.append(Entry(number, source, value))

    def tail(self, count: int | None) -> list[Entry]:
        """The last cells."""
        return list(self._entries)[-count:] if count else list(self._entries)

    def range(self, start: int | None, stop: int | None) -> list[Entry]:
        """The cells from the number `start` up to but without `stop`."""
        return [
            entry
            for entry in self._entries
            if (start or 0) <= entry.number and (stop is None or entry.number < stop)
        ]

    def search(self, pattern: str | None, count: int | None, *, unique: bool) -> list[Entry]:
        """The last cells whose source matches a pattern with `*` and `?`."""
        found = [entry for entry in self._entries if fnmatchcase(entry.source, pattern or "*")]
        if unique:
            # Of equal ones the last.
            last = {entry.source: entry for entry in found}
            found = [entry for entry in found if last[entry.source] is entry]
        return found[-count:] if count else found


def as_reply(entries: list[Entry], *, with_values: bool) -> dict[str, Any]:
    """The content of a `history_reply`."""
    return {
        "status": "ok",
        "history": [
            (SESSION, entry.number, (entry.source, entry.value) if with_values else entry.source)
            for entry in entries
        ],
    }
