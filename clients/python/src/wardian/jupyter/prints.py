"""What a cell prints, as few messages."""

from __future__ import annotations

import threading
from collections.abc import Callable

WAIT = 0.1
"""Seconds for which a text waits for more of its stream. Frontends that save each message as an output
of its own would otherwise show a gap after each line."""

SIZE_MAX = 32_768
"""A text of so many characters is published at once."""

Publish = Callable[[str, str], None]
"""Takes the name of a stream and a text. Is called by another thread, too, but never twice at once."""


class Prints:
    """Joins the texts of a stream that follow each other at once. A context manager, whose end publishes
    the rest."""

    def __init__(self, publish: Publish) -> None:
        self._publish = publish
        self._lock = threading.Lock()
        self._stream = ""
        self._texts: list[str] = []
        self._size = 0
        self._timer: threading.Timer | None = None

    def add(self, stream: str, text: str) -> None:
        """Publishes a text soon, after the ones before it."""
        with self._lock:
            if stream != self._stream:
                self._flush()
            self._stream = stream
            self._texts.append(text)
            self._size += len(text)
            if self._size >= SIZE_MAX:
                self._flush()
            elif self._timer is None:
                self._timer = threading.Timer(WAIT, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Publishes what waits."""
        with self._lock:
            self._flush()

    def _flush(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        texts, self._texts, self._size = self._texts, [], 0
        if texts:
            self._publish(self._stream, "".join(texts))

    def __enter__(self) -> Prints:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()
