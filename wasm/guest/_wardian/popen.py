"""`subprocess.Popen` for children that run in this interpreter.

A child runs when its end or its output is first needed, when its parent sleeps or waits for something else, and
at the latest at the parent's end. It then runs to its own end. One whose input is a pipe runs when that is
closed. What is written to a pipe, or read from one, therefore never waits.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import stat
import sys
import threading
from collections.abc import Mapping
from typing import Any

from _wardian import child, descriptors, processes, programs, threads

_PIPE, _STDOUT, _DEVNULL = -1, -2, -3
_UNPREPARED = 255


class _Source(io.RawIOBase):
    """The parent's end of a pipe from a child. Reading it runs the child."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._content: io.BytesIO | None = None
        self._number: int | None = None

    def fill(self, content: bytes) -> None:
        """Gets what the child has written."""
        self._content = io.BytesIO(content)

    def _filled(self) -> io.BytesIO:
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        if self._content is None:
            self._process.run()
        return self._content or io.BytesIO()

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Reads what the child has written."""
        if self._number is not None:
            part = os.read(self._number, len(buffer))
            buffer[: len(part)] = part
            return len(part)
        return self._filled().readinto(buffer)

    def peeked(self) -> bytes | None:
        """Returns what the child has written, and leaves it there. `None` for nothing."""
        return self._content.getvalue() or None if self._content is not None else None

    def fileno(self) -> int:
        """Returns a descriptor of what is left to read."""
        if self._number is None:
            self._number = descriptors.scratch(self._filled().read())
        return self._number

    def close(self) -> None:
        """Drops what is left."""
        super().close()
        number, self._number = self._number, None
        if number is not None:
            descriptors.close(number)


class _Sink(io.RawIOBase):
    """The parent's end of a pipe to a child. Closing it lets the child begin."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def writable(self) -> bool:
        """It can be written."""
        return True

    def write(self, data: Any, /) -> int:
        """Keeps what the child will read."""
        if self._process.has_ended:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        content = bytes(data)
        self._process.input += content
        return len(content)

    def close(self) -> None:
        """Ends the input of the child."""
        if not self.closed:
            self._process.end_input()
        super().close()


class Process:
    """A child: what starts it, and how it has ended."""

    def __init__(
        self,
        program: programs.Program,
        cwd: str | None,
        environment: Mapping[str, str],
        prepare: Any,
    ) -> None:
        self._program, self._cwd, self._prepare = program, cwd, prepare
        self.is_unprepared = False
        self._environment = environment
        self.number = processes.next_number()
        self._own: list[int] = []
        self._standard: dict[int, int] = {}
        self.sources: dict[int, _Source] = {}
        self.sink: _Sink | None = None
        self.input = bytearray()
        self.code: int | None = None
        self.has_ended = False
        self.polls = 0
        self._unit: Any = None

    def connect(self, place: int, target: Any) -> None:
        """Connects a standard stream: to a pipe, to nothing, or to an open file."""
        if target is None:
            return
        if target == _PIPE:
            if place == 0:
                self.sink = _Sink(self)
            else:
                self.sources[place] = _Source(self)
        elif target == _DEVNULL:
            self._standard[place] = self._keep(descriptors.nowhere())
        else:
            number = target if isinstance(target, int) else target.fileno()
            self._standard[place] = self._keep(descriptors.duplicate(number))

    def join_error_to_output(self) -> None:
        """Lets the errors go where the output goes."""
        self._standard[2] = _STDOUT

    def _keep(self, number: int) -> int:
        self._own.append(number)
        return number

    def queue(self) -> None:
        """Lets the child run when the parent waits for something, or ends."""
        self._unit = threads.queue_child(self._run_in_turn, self.sink is not None)

    def end_input(self) -> None:
        """The input is complete."""
        if self._unit is not None:
            self._unit.due = None

    def _run_in_turn(self) -> None:
        self._unit = None
        self.run()

    def run(self, timeout: float | None = None) -> None:
        """Runs the child, unless it has run.

        Raises:
            TimedOut: The time was over.
            BaseException: The parent was interrupted meanwhile.
        """
        if self.has_ended:
            return
        self.has_ended = True
        if self._unit is not None:
            threads.unqueue(self._unit)
            self._unit = None
        standard, opened = dict(self._standard), []
        code = -int(signal.SIGKILL)
        try:
            if self.sink is not None:
                standard[0] = descriptors.scratch(bytes(self.input))
                opened.append(standard[0])
            for place in self.sources:
                standard[place] = descriptors.scratch()
                opened.append(standard[place])
            if standard.get(2) == _STDOUT:
                standard[2] = standard.get(1, 1)
            processes.plan_number(self.number)
            code = self._program(
                cwd=self._cwd,
                environment=self._environment,
                standard=standard,
                timeout=timeout,
                prepare=self._prepared if self._prepare is not None else None,
            )
        except SystemExit as stop:
            if not self.is_unprepared:
                raise
            code = int(stop.code or 0)
        finally:
            processes.plan_number(None)
            self.code = code
            for place, source in self.sources.items():
                if place in standard and not source.closed:
                    source.fill(descriptors.content_of(standard[place]))
            for number in (*opened, *self._own):
                descriptors.close(number)
            self._own.clear()
            self.input.clear()

    def _prepared(self) -> None:
        """Calls `preexec_fn`. If that fails, the program does not begin."""
        try:
            self._prepare()
        except threads.Unwinds:
            raise
        except BaseException:
            self.is_unprepared = True
            raise SystemExit(_UNPREPARED) from None

    def end(self, number: int) -> None:
        """Ends a child that has not begun, by a signal."""
        if self.has_ended:
            return
        self.has_ended, self.code = True, -number
        if self._unit is not None:
            threads.unqueue(self._unit)
            self._unit = None
        for source in self.sources.values():
            source.fill(b"")
        for own in self._own:
            descriptors.close(own)
        self._own.clear()


def started(
    args: Any, *, shell: bool, executable: Any, cwd: Any, env: Any, preexec_fn: Any = None
) -> Process:
    """Finds a program and makes it ready to run.

    Raises:
        FileNotFoundError: The program or its folder does not exist.
    """
    folder = None if cwd is None else os.fsdecode(cwd)
    environment = dict(os.environ) if env is None else programs.decoded(env)
    if isinstance(args, (str, bytes, os.PathLike)):
        words = [os.fsdecode(args)]
    else:
        words = [os.fsdecode(word) for word in args]
        if not words:
            raise IndexError("list index out of range")
    if any("\0" in word for word in words):
        raise ValueError("embedded null byte")
    if folder is not None:
        if not stat.S_ISDIR(os.stat(folder).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)
        folder = os.path.abspath(folder)
    else:
        folder = os.getcwd()
    if shell:
        program = programs.shell_program(words[0], words[1:])
    else:
        if executable is not None:
            words[0] = os.fsdecode(executable)
        program = programs.resolve(words, environment, folder)
    return Process(program, folder, environment, preexec_fn)


def _start(
    self: Any,
    args: Any,
    bufsize: int = -1,
    executable: Any = None,
    stdin: Any = None,
    stdout: Any = None,
    stderr: Any = None,
    preexec_fn: Any = None,
    close_fds: bool = True,
    shell: bool = False,
    cwd: Any = None,
    env: Any = None,
    universal_newlines: Any = None,
    startupinfo: Any = None,
    creationflags: int = 0,
    restore_signals: bool = True,
    start_new_session: bool = False,
    pass_fds: Any = (),
    *,
    user: Any = None,
    group: Any = None,
    extra_groups: Any = None,
    encoding: Any = None,
    errors: Any = None,
    text: Any = None,
    umask: int = -1,
    pipesize: int = -1,
    process_group: Any = None,
) -> None:
    """Replaces `Popen.__init__`."""
    self._child_created = False
    self.returncode = None
    self.args = args
    bufsize = -1 if bufsize is None else bufsize
    if not isinstance(bufsize, int):
        raise TypeError("bufsize must be an integer")
    if startupinfo is not None:
        raise ValueError("startupinfo is only supported on Windows platforms")
    if text is not None and universal_newlines is not None and bool(universal_newlines) != bool(text):
        module = sys.modules["subprocess"]
        raise module.SubprocessError(
            "Cannot disambiguate when both text and universal_newlines are supplied but different. "
            "Pass one or the other."
        )
    self._waitpid_lock = threading.Lock()
    self._input, self._communication_started = None, False
    self._sigint_wait_secs = 0
    self.pipesize, self.process_group = pipesize, process_group
    self.encoding, self.errors = encoding, errors
    self.text_mode = bool(encoding or errors or text or universal_newlines)
    process = started(
        args, shell=shell, executable=executable, cwd=cwd, env=env, preexec_fn=_prepared(preexec_fn, umask)
    )
    process.connect(0, stdin)
    process.connect(1, stdout)
    if stderr == _STDOUT:
        process.join_error_to_output()
    else:
        process.connect(2, stderr)
    self._process = process
    self.pid = process.number
    self.stdin = self.stdout = self.stderr = None
    if process.sink is not None:
        self.stdin = process.sink if bufsize == 0 else io.BufferedWriter(process.sink)
        if self.text_mode:
            self.stdin = io.TextIOWrapper(
                self.stdin, write_through=True, line_buffering=bufsize == 1, encoding=encoding, errors=errors
            )
    for place, name in ((1, "stdout"), (2, "stderr")):
        if place in process.sources:
            stream: Any = process.sources[place]
            if bufsize != 0 or self.text_mode:
                stream = io.BufferedReader(stream)
            if self.text_mode:
                stream = io.TextIOWrapper(stream, encoding=encoding, errors=errors)
            setattr(self, name, stream)
    self._child_created = True
    process.queue()


def _prepared(function: Any, umask: int) -> Any:
    if umask < 0:
        return function

    def prepare() -> None:
        os.umask(umask)
        if function is not None:
            function()

    return prepare


def _run(self: Any, timeout: float | None) -> None:
    """Runs the child, and raises `TimeoutExpired` if it has not ended in time."""
    process = self._process
    if not process.has_ended:
        if self.stdin is not None and not self.stdin.closed:
            try:
                self.stdin.flush()
            except (OSError, ValueError):
                pass
        try:
            process.run(timeout)
        except child.TimedOut:
            output = [source.peeked() if source is not None else None for source in _raw_sources(process)]
            expired: Any = sys.modules["subprocess"].TimeoutExpired
            raise expired(self.args, timeout, output=output[0], stderr=output[1]) from None
    self.returncode = process.code
    if process.is_unprepared:
        raise sys.modules["subprocess"].SubprocessError("Exception occurred in preexec_fn.")


def _raw_sources(process: Process) -> tuple[_Source | None, _Source | None]:
    return process.sources.get(1), process.sources.get(2)


def _communicate(self: Any, input: Any = None, timeout: Any = None) -> tuple[Any, Any]:
    """Replaces `Popen.communicate`."""
    if self._communication_started and input:
        raise ValueError("Cannot send input after starting communication")
    if self.stdin is not None and not self._communication_started:
        try:
            if input:
                self.stdin.write(input)
            self.stdin.close()
        except BrokenPipeError:
            pass
    self._communication_started = True
    _run(self, timeout)
    found = []
    for stream in (self.stdout, self.stderr):
        found.append(stream.read() if stream is not None and not stream.closed else None)
        if stream is not None:
            stream.close()
    return found[0], found[1]


def _wait(self: Any, timeout: float | None = None) -> Any:
    """Replaces `Popen.wait`."""
    if self.returncode is None:
        _run(self, timeout)
    return self.returncode


def _poll(self: Any, *args: Any) -> Any:
    """Replaces `Popen.poll`. A child that has not begun runs at the second call, so that polling ends."""
    process = getattr(self, "_process", None)
    if self.returncode is None and process is not None:
        process.polls += 1
        if process.has_ended or process.polls > 1:
            _run(self, None)
    return self.returncode


def _send_signal(self: Any, sig: int) -> None:
    """Replaces `Popen.send_signal`: a child that has not begun does not run."""
    if self.returncode is None and sig:
        self._process.end(int(sig))


def _terminate(self: Any) -> None:
    """Ends a child that has not begun."""
    self.send_signal(signal.SIGTERM)


def _kill(self: Any) -> None:
    """Ends a child that has not begun."""
    self.send_signal(signal.SIGKILL)


def _delete(self: Any, *args: Any, **named: Any) -> None:
    """Replaces `Popen.__del__`: the child runs without its object."""


def patch_subprocess(module: Any) -> None:
    """Replaces what `Popen` does; the functions on top of it stay as they are."""
    popen = module.Popen
    popen.__init__, popen.communicate, popen.wait, popen.poll = _start, _communicate, _wait, _poll
    popen._internal_poll, popen.send_signal, popen.terminate, popen.kill = _poll, _send_signal, _terminate, _kill
    popen.__del__ = _delete


# `os.popen`


class _Pipe:
    """What `os.popen` returns: a stream, whose end is that of the command."""

    def __init__(self, stream: Any, process: Process) -> None:
        self._stream, self._process = stream, process

    def close(self) -> int | None:
        """Ends the stream, waits for the command, and returns its status; `None` if that is zero."""
        self._stream.close()
        self._process.run()
        code = self._process.code
        return programs.status_of(code) if code else None

    def __enter__(self) -> _Pipe:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Any:
        return iter(self._stream)


_Pipe.__name__ = _Pipe.__qualname__ = "_wrap_close"
_Pipe.__module__ = "os"


def popen(cmd: Any, mode: str = "r", buffering: int = -1) -> Any:
    """Replaces `os.popen`."""
    if not isinstance(cmd, str):
        raise TypeError(f"invalid cmd type ({type(cmd)}, expected string)")
    if mode not in ("r", "w"):
        raise ValueError(f"invalid mode {mode!r}")
    if buffering == 0 or buffering is None:
        raise ValueError("popen() does not support unbuffered streams")
    process = started(cmd, shell=True, executable=None, cwd=None, env=None)
    process.connect(1 if mode == "r" else 0, _PIPE)
    process.queue()
    if mode == "r":
        return _Pipe(io.TextIOWrapper(io.BufferedReader(process.sources[1])), process)
    sink: Any = process.sink
    return _Pipe(io.TextIOWrapper(io.BufferedWriter(sink), write_through=True), process)


popen.__module__ = "os"
