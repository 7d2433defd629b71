"""Shells of `asyncio.create_subprocess_shell`: they have not found the command, and have ended."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from _wardian import programs

_PIPE, _STDOUT, _DEVNULL = -1, -2, -3


class EndedShell(asyncio.SubprocessTransport):
    """The transport of a shell. What it has said comes at the next steps of the loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        protocol: Any,
        command: Any,
        *,
        stdin: Any = _PIPE,
        stdout: Any = _PIPE,
        stderr: Any = _PIPE,
        shell: bool = True,
        **options: Any,
    ) -> None:
        super().__init__()
        if not isinstance(command, (str, bytes)):
            raise ValueError("cmd must be a string")
        if not shell:
            raise ValueError("shell must be True")
        self._protocol = protocol
        out, err = programs.shell_output(command)
        self._pipes: dict[int, _Pipe] = {}
        pending: list[tuple[int, bytes]] = []
        if stdin == _PIPE:
            self._pipes[0] = _Pipe()
        is_joined = stderr == _STDOUT
        for number, target, text in ((1, stdout, out + err if is_joined else out), (2, stderr, err)):
            if number == 2 and is_joined:
                continue
            if target == _PIPE:
                self._pipes[number] = _Pipe()
                pending.append((number, text))
            elif target != _DEVNULL and text:
                place = number if target is None else target
                os.write(place if isinstance(place, int) else place.fileno(), text)
        protocol.connection_made(self)
        for number, text in pending:
            if text:
                loop.call_soon(protocol.pipe_data_received, number, text)
        loop.call_soon(protocol.process_exited)
        for number in self._pipes:
            loop.call_soon(protocol.pipe_connection_lost, number, None)
        loop.call_soon(protocol.connection_lost, None)

    def get_pid(self) -> int:
        """Returns the number of the process."""
        return os.getpid() + 1

    def get_returncode(self) -> int:
        """Returns how the process has ended."""
        return programs.NOT_FOUND

    def get_pipe_transport(self, fd: int) -> Any:
        """Returns the transport of a stream, if it is a pipe."""
        return self._pipes.get(fd)

    def send_signal(self, signal: int) -> None:
        """Finds no process."""
        raise ProcessLookupError

    def kill(self) -> None:
        """Finds no process."""
        raise ProcessLookupError

    terminate = kill

    def is_closing(self) -> bool:
        """The process has ended."""
        return True

    def close(self) -> None:
        """It is closed."""

    async def _wait(self) -> int:
        return programs.NOT_FOUND


class _Pipe(asyncio.Transport):
    """A pipe of an ended process."""

    def write(self, data: Any) -> None:
        """Drops what nobody reads."""

    def writelines(self, list_of_data: Any) -> None:
        """Drops what nobody reads."""

    def can_write_eof(self) -> bool:
        """As for any pipe."""
        return True

    def write_eof(self) -> None:
        """It has ended."""

    def is_closing(self) -> bool:
        """It has ended."""
        return True

    def is_reading(self) -> bool:
        """Everything was read."""
        return False

    def get_write_buffer_size(self) -> int:
        """Returns zero: nothing waits."""
        return 0

    def close(self) -> None:
        """It has ended."""

    abort = pause_reading = resume_reading = close
