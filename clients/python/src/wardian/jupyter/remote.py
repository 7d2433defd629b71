"""The session of a kernel, and copies of it that answer questions about its state."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wardian import _wire
from wardian._sync.client import Client
from wardian._sync.sessions import Session
from wardian.errors import InvalidSetting
from wardian.options import CellOptions
from wardian.results import LeftOut, Output, RunResult

ASIDE_MS = 10_000
"""Time limit of what is asked of a copy, in milliseconds."""

INTERRUPT_PATIENCE = 5.0
"""Seconds to wait for a cell that is being sent to begin."""

INTERRUPT_PAUSE = 0.05

OnOutput = Callable[[str, str], None]
"""Takes the name of a stream, `stdout` or `stderr`, and a text."""

OnWait = Callable[[RunResult, threading.Event], Mapping[str, Any] | None]
"""Takes a part of a cell with its requests, and returns an answer to each; `None` ends the cell. The
event is set by an interrupt."""


@dataclass(frozen=True)
class Settings:
    """How the kernel reaches its session."""

    url: str | None = None
    key_file: str | None = None
    session_id: str | None = None
    """An existing session to continue, which is never closed; `None` for a new one."""
    keep: bool = False
    """Whether the session stays when the kernel ends."""
    timeout: float | None = None
    """Time limit of a cell in seconds; `None` for that of the server."""


class Remote:
    """The session of a kernel. `interrupt` may be called by another thread."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._client: Client | None = None
        self._session: Session | None = None
        self._running: Session | None = None
        self._asking: threading.Event | None = None

    @property
    def client(self) -> Client:
        """The client. Raises `InvalidSetting` for an unusable URL or key."""
        if self._client is None:
            # A cell may run for as long as the server lets it.
            self._client = Client(self.settings.url, api_key=self._key(), timeout=None)
        return self._client

    @property
    def session(self) -> Session:
        """The session, which is created or opened on first use. Raises a `WardianError` if that
        fails; the next use tries again."""
        if self._session is None:
            if self.settings.session_id is not None:
                self._session = self.client.open_session(self.settings.session_id)
            else:
                self._session = self.client.session(keep=self.settings.keep, label="jupyter")
        return self._session

    def run(self, code: str, on_output: OnOutput, on_wait: OnWait) -> RunResult:
        """Runs a cell. Its output is passed on while it runs."""
        session = self.session
        # Files stay in the session; a notebook has no use for copies of them.
        options = CellOptions(keep_files=False)
        if self.settings.timeout is not None:
            options["timeout_ms"] = round(self.settings.timeout * 1_000)
        stream = session.stream(code, **options)
        while True:
            with self._marked(session), stream:
                for event in stream:
                    match event:
                        case Output(stream="stdout", text=text):
                            on_output("stdout", text)
                        case Output(text=text):
                            on_output("stderr", text)
                        case LeftOut(bytes=count):
                            on_output("stderr", f"[{count} bytes of output were skipped]\n")
                        case _:
                            pass
                result = stream.result
                if not result.requests:
                    return result
                # An interrupt finds either what runs or what is asked.
                self._asking = threading.Event()
            try:
                answers = on_wait(result, self._asking)
            finally:
                self._asking = None
            if answers is None:
                return session.abandon()
            stream = session.stream_answer(answers, **options)

    def aside(self, code: str) -> Any:
        """The value of a program that runs in a copy of the session. The session itself does not
        change: it gets neither a cell nor a checkpoint, and draws the same random numbers.

        Raises a `WardianError` if the session cannot be copied, or if the program fails.
        """
        session = self.session
        # A session without cells has no state to copy.
        copy = session.fork(keep=False)[0] if session.checkpoint else self.client.session()
        with copy, self._marked(copy):
            result = copy.run(code, timeout_ms=ASIDE_MS, keep_files=False).completed()
        output = self.output_of(result) or {}
        return output.get("result")

    def output_of(self, result: RunResult) -> _wire.JsonObject | None:
        """The output of a cell, also if it was too large to be part of the result."""
        if not result.output_truncated or result.output is None:
            return result.output
        content = self.client.blobs.read(_wire.text(result.output, "blob_id"))
        return _wire.as_object(json.loads(content), "output")

    def read(self, blob_id: str) -> bytes:
        """The content of a blob."""
        return self.client.blobs.read(blob_id)

    def interrupt(self) -> None:
        """Interrupts what runs, or the question to the user. A cell that is being sent is interrupted
        once it has begun."""
        end = time.monotonic() + INTERRUPT_PATIENCE
        while time.monotonic() < end:
            asking, running = self._asking, self._running
            if asking is not None:
                asking.set()
                return
            if running is None or running.interrupt():
                return
            time.sleep(INTERRUPT_PAUSE)

    def end(self) -> None:
        """Closes the connections, and the session unless it is to be kept. Closing a session stops
        its running cell."""
        client, session = self._client, self._session
        if client is None:
            return
        try:
            if session is not None and not session.keep:
                session.close()
        finally:
            client.close()

    def _key(self) -> str | None:
        if self.settings.key_file is None:
            return None
        try:
            return Path(self.settings.key_file).read_text().strip()
        except (OSError, ValueError) as error:
            raise InvalidSetting(f"the key file cannot be read: {error}") from error

    @contextmanager
    def _marked(self, session: Session) -> Generator[None]:
        """Lets an interrupt find what runs."""
        self._running = session
        try:
            yield
        finally:
            self._running = None
