"""A server of this program's own."""

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
# Lines of the server's log begin with a time, or are JSON; what it does before it is ready does not.
LOG_LINE = re.compile(r"\s|\d{4}-|\{|$")

_logger = logging.getLogger("wardian")


def find_binary(binary: str | PathLike[str] | None = None) -> Path:
    """The program: the one named here or by `WARDIAN_BINARY`, that of this Python, or that of
    the shell's path."""
    named = binary or os.environ.get("WARDIAN_BINARY")
    if named:
        found = shutil.which(named)
        if found is None:
            raise LocalServerError(f"{os.fspath(named)} is no program")
        return Path(found)
    for folder in (sysconfig.get_path("scripts"), str(Path(sys.executable).parent), None):
        found = shutil.which("wardian", path=folder)
        if found is not None:
            return Path(found)
    raise LocalServerError("there is no program `wardian`: `pip install wardian` brings it")


class LocalServer:
    """A server that lives as long as this value, or as this program.

    It listens on a free port of the loopback interface, with a configuration of its own: files and
    variables of the user do not change it, except for secrets and the cache. Without `data_dir` its
    data lie in a folder that is removed in the end. If this program is killed, the server ends too.

    The first start on a machine compiles the engine for some minutes. Meanwhile the logger `wardian`
    tells what is done; Python shows its messages unless a program decides otherwise.
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
        # One folder is not the letters of its name.
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
        """Ends the server, and waits until it has ended."""
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
        """Waits for the line that tells the address."""
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
                    raise LocalServerError(f"the server is not ready in time:\n{self._end_of_log()}")
                if not is_told:
                    continue
                piece = os.read(stdout.fileno(), 4_096)
                if not piece:
                    raise LocalServerError(f"the server does not start:\n{self._end_of_log()}")
                text += piece
        line = text.decode().splitlines()[0]
        return line.rpartition(" ")[2]

    def _end_of_log(self) -> str:
        return self.log[-LOG_SHOWN:].strip()


def _tell_progress(log: TextIO) -> None:
    """Passes on what the server says before it is ready: the steps of the first start."""
    place = log.tell()
    while line := log.readline():
        if not line.endswith("\n"):
            # It is not written completely yet.
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
    """Starts a server and returns a client of it, which ends the server when it is closed.

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
    """As `local`, for an asynchronous client."""

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
    """The variables of this program, without settings of Wardian."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("WARDIAN_") or name.startswith(KEPT_VARIABLES)
    }
