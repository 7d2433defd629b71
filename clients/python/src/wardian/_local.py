"""A server for this program alone."""

from __future__ import annotations

import atexit
import logging
import os
import re
import selectors
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TextIO

import anyio.to_thread

from wardian._async.client import AsyncClient
from wardian._sync.client import Client
from wardian.errors import LocalServerError

KEPT_VARIABLES = ("WARDIAN_SECRET_", "WARDIAN_CACHE_DIR")
LOG_SHOWN = 2_000
END_PATIENCE = 10.0
TELL_INTERVAL = 0.5
# Lines of the server's log begin with a time, or are JSON. Reports before it is ready do not.
LOG_LINE = re.compile(r"\s|\d{4}-|\{|$")

_logger = logging.getLogger("wardian")


def find_binary(binary: str | PathLike[str] | None = None) -> Path:
    """The program `wardian`: `binary`, that of `WARDIAN_BINARY`, that of this Python environment,
    or the first on the `PATH`."""
    named = binary or os.environ.get("WARDIAN_BINARY")
    if named:
        found = shutil.which(named)
        if found is None:
            raise LocalServerError(f"{os.fspath(named)} is not a program")
        return Path(found)
    for folder in (sysconfig.get_path("scripts"), str(Path(sys.executable).parent), None):
        found = shutil.which("wardian", path=folder)
        if found is not None:
            return Path(found)
    raise LocalServerError("the program `wardian` was not found: `pip install wardian` installs it")


class LocalServer:
    """A server that lives as long as this value, or as this program.

    It listens on a free port of the loopback interface, with its own configuration: it ignores the
    user's files and environment variables, except for secrets and the cache. Without `data_dir`,
    its data are in a folder that is removed at the end. The server also stops if this program is
    killed.

    The first start on a machine compiles the engine, which takes some minutes. The logger `wardian`
    reports the progress; Python shows its messages by default.
    """

    def __init__(
        self,
        *,
        binary: str | PathLike[str] | None = None,
        data_dir: str | PathLike[str] | None = None,
        skills: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
        settings: Mapping[str, str] | None = None,
        start_timeout: float = 900.0,
    ) -> None:
        program = find_binary(binary)
        self._folder = tempfile.TemporaryDirectory(prefix="wardian-")
        folder = Path(self._folder.name)
        config = folder / "wardian.toml"
        config.touch()
        data = Path(data_dir) if data_dir is not None else folder / "data"
        command = [str(program), "serve", "--listen", "127.0.0.1:0", "--end-with-input"]
        command += ["--config", str(config), "--data-dir", str(data)]
        # A `str` is one folder, not a sequence of letters.
        for root in [skills] if isinstance(skills, (str, PathLike)) else skills:
            command += ["--skills", str(Path(root).absolute())]
        for name, value in (settings or {}).items():
            command += ["--set", f"{name}={value}"]
        self._log = folder / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_environment(),
            )
        atexit.register(self.close)
        try:
            self.url = self._wait(time.monotonic() + start_timeout)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> LocalServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def log(self) -> str:
        """What the server has logged so far."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    @property
    def process_id(self) -> int:
        """The process of the server."""
        return self._process.pid

    def close(self) -> None:
        """Stops the server, and waits until it has exited."""
        process = self._process
        if process.poll() is None and process.stdin is not None:
            process.stdin.close()
            try:
                process.wait(END_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        atexit.unregister(self.close)
        self._folder.cleanup()

    def _wait(self, end: float) -> str:
        """Waits for the line with the address."""
        stdout = self._process.stdout
        assert stdout is not None
        text = b""
        with selectors.DefaultSelector() as selector, self._log.open(errors="replace") as log:
            selector.register(stdout, selectors.EVENT_READ)
            while b"\n" not in text:
                left = end - time.monotonic()
                is_told = selector.select(max(0.0, min(left, TELL_INTERVAL)))
                _tell_progress(log)
                if not is_told and left <= 0:
                    raise LocalServerError(f"the server was not ready in time:\n{self._end_of_log()}")
                if not is_told:
                    continue
                piece = os.read(stdout.fileno(), 4_096)
                if not piece:
                    raise LocalServerError(f"the server did not start:\n{self._end_of_log()}")
                text += piece
        line = text.decode().splitlines()[0]
        return line.rpartition(" ")[2]

    def _end_of_log(self) -> str:
        return self.log[-LOG_SHOWN:].strip()


def _tell_progress(log: TextIO) -> None:
    """Logs what the server reports before it is ready: the steps of the first start."""
    place = log.tell()
    while line := log.readline():
        if not line.endswith("\n"):
            # The line is not complete yet.
            log.seek(place)
            return
        place = log.tell()
        if not LOG_LINE.match(line):
            _logger.warning("%s", line.rstrip())


def local(
    *,
    binary: str | PathLike[str] | None = None,
    data_dir: str | PathLike[str] | None = None,
    skills: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    settings: Mapping[str, str] | None = None,
    start_timeout: float = 900.0,
) -> Client:
    """Starts a server and returns a client of it. Closing the client stops the server.

    The parameters are those of `LocalServer`.
    """
    server = LocalServer(
        binary=binary,
        data_dir=data_dir,
        skills=skills,
        settings=settings,
        start_timeout=start_timeout,
    )
    return Client(server.url, on_close=server.close)


async def local_async(
    *,
    binary: str | PathLike[str] | None = None,
    data_dir: str | PathLike[str] | None = None,
    skills: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    settings: Mapping[str, str] | None = None,
    start_timeout: float = 900.0,
) -> AsyncClient:
    """Like `local`, for an asynchronous client."""

    def start() -> LocalServer:
        return LocalServer(
            binary=binary,
            data_dir=data_dir,
            skills=skills,
            settings=settings,
            start_timeout=start_timeout,
        )

    server = await anyio.to_thread.run_sync(start)
    return AsyncClient(server.url, on_close=server.close)


def _environment() -> dict[str, str]:
    """The environment of this program, without settings of Wardian."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("WARDIAN_") or name.startswith(KEPT_VARIABLES)
    }
