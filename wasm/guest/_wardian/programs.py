"""Other programs: there are none, which is told as on a machine where the program is missing.

Starting a program raises `FileNotFoundError`. A shell starts, does not find the command, says so on
its error stream, and ends with 127. So programs that look for `git` and go on without it do so.
"""

from __future__ import annotations

import errno
import io
import operator
import os
import posixpath
import re
import threading
from collections.abc import Callable
from typing import Any

PROCESSES = "no other program can run in the sandbox: use Python's library instead"
NO_INTERPRETER = (
    "no second interpreter can run in the sandbox, and `sys.executable` is empty: import the "
    "module, or use `runpy.run_path` or `runpy.run_module`"
)

NOT_FOUND = 127
"""Exit code of a shell that does not find a command."""

_STATUS = NOT_FOUND << 8
"""The same as `os.system` and `os.wait` report it."""

_PIPE, _STDOUT, _DEVNULL = -1, -2, -3


class Missing(str):
    """The name of a program that cannot run, printed with the reason."""

    advice: str

    def __repr__(self) -> str:
        return f"{super().__repr__()} ({self.advice})"


def missing(arguments: Any) -> FileNotFoundError:
    """The exception for an attempt to start a program, given by its name or its arguments."""
    words = [arguments] if isinstance(arguments, (str, bytes, os.PathLike)) else list(arguments)
    texts = [os.fsdecode(word) for word in words]
    name = Missing(texts[0])
    name.advice = _advice(texts)
    return FileNotFoundError(errno.ENOENT, "No such file or directory", name)


def _advice(words: list[str]) -> str:
    program = posixpath.basename(words[0])
    is_python = not program or program.startswith("python")
    advice = NO_INTERPRETER if is_python else PROCESSES
    if "pip" in program or "install" in words:
        advice += "; nothing can be installed"
    return advice


def shell_message(command: Any) -> bytes:
    """What a shell says of a command, of which it finds nothing."""
    words = os.fsdecode(command).split()
    while len(words) > 1 and "=" in words[0]:  # a variable of the command
        del words[0]
    name = words[0] if words else ""
    return f"/bin/sh: 1: {name[:200]}: not found ({_advice([name or 'sh', *words[1:]])})\n".encode()


_TO_NOWHERE = re.compile(r"(?:\b2|&)>>?\s*/dev/null|>\s*/dev/null\s+2>&1")
_TO_OUTPUT = re.compile(r"\b2>&1")


def shell_output(command: Any) -> tuple[bytes, bytes]:
    """What a shell writes to its output and to its error stream, as the command redirects them."""
    said, text = shell_message(command), os.fsdecode(command)
    if _TO_NOWHERE.search(text):
        return b"", b""
    return (said, b"") if _TO_OUTPUT.search(text) else (b"", said)


# `os`


def system(command: Any) -> int:
    """Returns the status of a shell that has not found the command."""
    for number, said in enumerate(shell_output(command), 1):
        if said:
            os.write(number, said)
    return _STATUS


class _ShellOutput(io.StringIO):
    """What `os.popen` returns."""

    def close(self) -> int:  # type: ignore[override]
        """Returns the status of the shell."""
        super().close()
        return _STATUS


def popen(cmd: Any, mode: str = "r", buffering: int = -1) -> _ShellOutput:
    """Returns the output of a shell that has not found the command."""
    if not isinstance(cmd, str):
        raise TypeError(f"invalid cmd type ({type(cmd)}, expected string)")
    if mode not in ("r", "w"):
        raise ValueError(f"invalid mode {mode!r}")
    out, err = shell_output(cmd)
    if err:
        os.write(2, err)
    return _ShellOutput(out.decode() if mode == "r" else "")


def _executing(place: int) -> Callable[..., Any]:
    def execute(*args: Any, **named: Any) -> Any:
        raise missing([args[place]] if len(args) > place else [""])

    return execute


def _spawning(mode: int, file: Any, *args: Any) -> int:
    """As with `P_WAIT`: the new process ends with 127. Without waiting there is no process."""
    if mode != 0:
        raise missing([file])
    return NOT_FOUND


# How a process has ended, as `os.system` and `os.wait` tell it.


def _ended_by(status: int) -> int:
    return status & 0x7F


def waitstatus_to_exitcode(status: int) -> int:
    """Returns the exit code of a process, or the number of its signal as a negative number."""
    status = operator.index(status)
    if status & 0xFF == 0x7F:
        raise ValueError(f"process stopped by delivery of signal {status >> 8 & 0xFF}")
    if status == _CONTINUED:
        raise ValueError(f"invalid wait status: {status}")
    return -_ended_by(status) if _ended_by(status) else status >> 8 & 0xFF


_CONTINUED = 0xFFFF

_OF_STATUS: dict[str, Callable[[int], Any]] = {
    "WCOREDUMP": lambda status: bool(status & 0x80),
    "WEXITSTATUS": lambda status: status >> 8 & 0xFF,
    "WIFCONTINUED": lambda status: status == _CONTINUED,
    "WIFEXITED": lambda status: not _ended_by(status),
    "WIFSIGNALED": lambda status: 0 < _ended_by(status) < 0x7F,
    "WIFSTOPPED": lambda status: status & 0xFF == 0x7F,
    "WSTOPSIG": lambda status: status >> 8 & 0xFF,
    "WTERMSIG": _ended_by,
}


def patch_os(module: Any) -> None:
    """Replaces the functions that start programs; adds those that read how one has ended."""
    replaced: dict[str, Any] = {"system": system, "popen": popen}
    for how in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe"):
        replaced[f"exec{how}"] = _executing(0)
        replaced[f"spawn{how}"] = _spawning
    for name in ("posix_spawn", "posix_spawnp"):
        replaced[name] = _executing(0)
    for name, function in replaced.items():
        if function.__name__ != name:
            function = _named(function, name)
        setattr(module, name, function)
    for name, function in _OF_STATUS.items():
        setattr(module, name, _named(function, name))
    module.waitstatus_to_exitcode = waitstatus_to_exitcode
    module.WNOHANG, module.WUNTRACED, module.WCONTINUED = 1, 2, 8
    module.P_WAIT, module.P_NOWAIT = 0, 1
    module.P_NOWAITO = 1


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def called(*args: Any, **named: Any) -> Any:
        return function(*args, **named)

    called.__name__ = called.__qualname__ = name
    called.__module__ = "os"
    return called


# `subprocess`


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
    encoding: Any = None,
    errors: Any = None,
    text: Any = None,
    **others: Any,
) -> None:
    """Replaces `Popen.__init__`."""
    self._child_created = False
    self.args = args
    if not shell:
        words = [args] if isinstance(args, (str, bytes, os.PathLike)) else list(args)
        words[0] = executable or words[0]
        raise missing(words)
    command = args if isinstance(args, (str, bytes, os.PathLike)) else list(args)[0]
    self._waitpid_lock = threading.Lock()
    self._input, self._communication_started = None, False
    self.pid, self.returncode = os.getpid() + 1, NOT_FOUND
    self.pipesize, self.process_group = -1, None
    self.encoding, self.errors = encoding, errors
    self.text_mode = bool(encoding or errors or text or universal_newlines)
    out, err = shell_output(command)
    is_joined = stderr == _STDOUT
    self.stdin = _stream(self, b"") if stdin == _PIPE else None
    self.stdout = _deliver(self, out + err if is_joined else out, stdout, 1)
    self.stderr = None if is_joined else _deliver(self, err, stderr, 2)


def _stream(self: Any, data: bytes) -> Any:
    raw = io.BytesIO(data)
    if not self.text_mode:
        return raw
    return io.TextIOWrapper(raw, encoding=self.encoding or "utf-8", errors=self.errors)


def _deliver(self: Any, data: bytes, target: Any, inherited: int) -> Any:
    if target == _PIPE:
        return _stream(self, data)
    if target != _DEVNULL and data:
        number = inherited if target is None else target
        os.write(number if isinstance(number, int) else number.fileno(), data)
    return None


def _communicate(self: Any, input: Any = None, timeout: Any = None) -> tuple[Any, Any]:
    """Replaces `Popen.communicate`: the process has ended, and its output is there."""
    if self._communication_started and input:
        raise ValueError("Cannot send input after starting communication")
    self._communication_started = True
    found = []
    for stream in (self.stdout, self.stderr):
        found.append(stream.read() if stream is not None and not stream.closed else None)
    for stream in (self.stdin, self.stdout, self.stderr):
        if stream is not None:
            stream.close()
    return found[0], found[1]


def patch_subprocess(module: Any) -> None:
    """Replaces the start of a program; everything else works with the ended process."""
    module.Popen.__init__ = _start
    module.Popen.communicate = _communicate
