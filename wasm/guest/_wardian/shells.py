"""Child processes of asyncio: they run at once, and their output comes at the next steps of the loop.

One whose input is a pipe runs when that is closed, or when the loop has had nothing else to do for a moment.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

from _wardian import descriptors, event_loop, popen

_PIPE, _STDOUT, _DEVNULL = -1, -2, -3
_INPUT_SECONDS = 0.05
"""How long an input may stay open before the child runs with what it has."""


class ChildTransport(asyncio.SubprocessTransport):
    """The transport of a child."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        protocol: Any,
        args: Any,
        *,
        shell: bool,
        stdin: Any = _PIPE,
        stdout: Any = _PIPE,
        stderr: Any = _PIPE,
        cwd: Any = None,
        env: Any = None,
        executable: Any = None,
        preexec_fn: Any = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self._loop, self._protocol = loop, protocol
        self._child = popen.started(
            args, shell=shell, executable=executable, cwd=cwd, env=env, preexec_fn=preexec_fn
        )
        self._files: dict[int, int] = {}
        self._pipes: dict[int, _Pipe] = {}
        self._ended = loop.create_future()
        self._is_over = self._is_known = False
        child = self._child
        if stdin == _PIPE:
            self._pipes[0] = _Pipe(self)
        child.connect(0, self._file(0) if stdin == _PIPE else stdin)
        for place, target in ((1, stdout), (2, stderr)):
            if place == 2 and target == _STDOUT:
                child.join_error_to_output()
                continue
            if target == _PIPE:
                self._pipes[place] = _Pipe(self)
            child.connect(place, self._file(place) if target == _PIPE else target)
        protocol.connection_made(self)
        if 0 in self._pipes:
            self._later = loop.call_later(_INPUT_SECONDS, self.run)
        else:
            loop.call_soon(self.run)

    def _file(self, place: int) -> int:
        self._files[place] = descriptors.scratch()
        return self._files[place]

    def put(self, data: bytes) -> None:
        """Keeps input of the child."""
        if not self._is_over and 0 in self._files:
            descriptors.put(self._files[0], data)
            self._later.cancel()
            self._later = self._loop.call_later(_INPUT_SECONDS, self.run)

    def run(self) -> None:
        """Runs the child, unless it has run, and tells its protocol."""
        if self._is_over:
            return
        self._is_over = True
        if 0 in self._files:
            os.lseek(self._files[0], 0, 0)
        try:
            self._child.run()
        finally:
            self._tell()

    def _tell(self) -> None:
        content = {place: descriptors.content_of(number) for place, number in self._files.items() if place}
        for number in self._files.values():
            descriptors.close(number)
        self._files.clear()
        call: Callable[..., object] = self._loop.call_soon
        for place, data in content.items():
            if data:
                call(self._protocol.pipe_data_received, place, data)
        call(self._protocol.process_exited)
        for place in self._pipes:
            call(self._protocol.pipe_connection_lost, place, None)
        call(self._protocol.connection_lost, None)
        call(self._set_ended)

    def _set_ended(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    def get_pid(self) -> int:
        """Returns the number of the process."""
        return self._child.number

    def get_returncode(self) -> int | None:
        """Returns how the process has ended."""
        return self._child.code

    def get_pipe_transport(self, fd: int) -> Any:
        """Returns the transport of a stream, if it is a pipe."""
        return self._pipes.get(fd)

    def send_signal(self, signal: int) -> None:
        """Ends a child that has not run.

        Raises:
            ProcessLookupError: It has, and its parent knows that.
        """
        if self._is_known:
            raise ProcessLookupError
        if self._is_over:  # the parent may have stopped waiting for it, and cannot know
            return
        self._is_over = True
        self._child.end(int(signal))
        self._tell()

    def terminate(self) -> None:
        """Ends a child that has not run."""
        self.send_signal(15)

    def kill(self) -> None:
        """Ends a child that has not run."""
        self.send_signal(9)

    def is_closing(self) -> bool:
        """True if the process has ended."""
        return self._is_over

    def close(self) -> None:
        """Ends a child that has not run."""
        if not self._is_over:
            self.send_signal(9)

    async def _wait(self) -> int | None:
        if not self._is_over and 0 not in self._pipes:
            self.run()
        if not self._ended.done():
            await asyncio.shield(self._ended)
        self._is_known = True
        return self._child.code


class _Pipe(asyncio.Transport):
    """A pipe of a child."""

    def __init__(self, child: ChildTransport) -> None:
        super().__init__()
        self._child = child
        self._is_closing = False

    def write(self, data: Any) -> None:
        """Gives the child input. One that has ended does not read it."""
        self._child.put(bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        """As `write`, for several parts."""
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        """As for any pipe."""
        return True

    def write_eof(self) -> None:
        """Ends the input: the child runs."""
        self.close()

    def is_closing(self) -> bool:
        """True if the input has ended."""
        return self._is_closing or self._child.is_closing()

    def is_reading(self) -> bool:
        """Everything is read at once."""
        return False

    def get_write_buffer_size(self) -> int:
        """Returns zero: nothing waits."""
        return 0

    def close(self) -> None:
        """Ends the input: the child runs."""
        if not self._is_closing:
            self._is_closing = True
            self._child._loop.call_soon(self._child.run)

    def abort(self) -> None:
        """Ends the input: the child runs."""
        self.close()

    def pause_reading(self) -> None:
        """Everything is read at once."""

    resume_reading = pause_reading


event_loop.new_child = ChildTransport
