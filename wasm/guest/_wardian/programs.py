"""Other programs: Python, shells and small utilities run in the guest; all others do not exist.

A program is started by its words. `resolve` finds what runs then, or raises `FileNotFoundError` as on a machine
where the program is missing. A shell starts in any case, and ends with 127 where it does not find a command.
"""

from __future__ import annotations

import errno
import operator
import os
import posixpath
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from _wardian import child, descriptors, files, foreign, places, processes, shell, shell_options, utilities
from _wardian.foreign import PROCESSES, Missing, missing
from _wardian.shell import NOT_FOUND

Program = Callable[..., int]
"""Runs a program: `cwd`, `environment`, `standard`, `timeout` and `prepare` are named arguments."""

_PYTHON = re.compile(r"python(?:w|3(?:\.\d+)?)?|pypy3?")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash", "ksh"})
_FIRST_LINE_MAX = 256


def resolve(words: Sequence[str], environment: Mapping[str, str] | None = None, cwd: str | None = None) -> Program:
    """Returns what runs a program.

    Raises:
        FileNotFoundError: There is no such program.
        OSError: The file cannot be executed.
    """
    name = words[0]
    base = posixpath.basename(name)
    own = os.path.join(cwd or "", name) if "/" in name else ""
    is_own = bool(own) and posixpath.dirname(name) not in utilities.FOLDERS and os.path.exists(own)
    if name == sys.executable or (not is_own and _PYTHON.fullmatch(base)):
        return _python(list(words[1:]))
    if not is_own and base in _SHELLS:
        return _shell(list(words))
    if not is_own and base == "env":
        return _env(list(words[1:]), environment, cwd)
    if not is_own and name in ("nohup", "exec", "command", "time") and len(words) > 1:
        return resolve(words[1:], environment, cwd)
    utility = None if is_own else utilities.find(name)
    if utility is not None:
        return _in_place(lambda environment: utility(list(words[1:])))
    if is_own:
        return _file(own, list(words), environment, cwd)
    raise missing(words)


def _python(arguments: list[str]) -> Program:
    def run(*, environment: Any = None, **options: Any) -> int:
        return child.run_python(arguments, env=environment, **options)

    return run


def _in_place(call: Callable[[Mapping[str, str]], int]) -> Program:
    """A program that is a function: it gets its folder and its descriptors, and leaves those of the parent."""

    def run(
        *,
        environment: Mapping[str, str] | None = None,
        cwd: str | None = None,
        standard: Mapping[int, int] | None = None,
        timeout: float | None = None,
        prepare: Callable[[], object] | None = None,
    ) -> int:
        folder, mask = os.getcwd(), files.present_umask()
        child.flush_inherited(standard or {})
        with child.time_limit(timeout), descriptors.Redirection(standard or {}):
            try:
                if cwd is not None:
                    os.chdir(cwd)
                if prepare is not None:
                    prepare()
                return call(os.environ if environment is None else environment)
            finally:
                os.chdir(folder)
                if files.present_umask() != mask:
                    os.umask(mask)
        raise AssertionError("a limit of time ends with an exception")

    return run


def shell_program(
    text: str, arguments: Sequence[str] = (), options: shell_options.Options | None = None
) -> Program:
    """A shell that executes a text."""
    return _in_place(lambda environment: shell.run(text, resolve, environment, arguments, options))


def _shell(words: list[str]) -> Program:
    if words[1:2] == ["--version"]:
        return _in_place(lambda environment: utilities.say_version(words[0]))
    try:
        options, rest, _ = shell_options.read(words[1:], shell_options.Options(), is_start=True)
    except shell_options.OptionError as error:
        refusal = str(error)
        return _in_place(lambda environment: utilities.refuse(words[0], refusal))
    if options.takes_text:
        if not rest:
            return _in_place(lambda environment: utilities.refuse(words[0], "-c requires an argument"))
        return shell_program(rest[0], rest[1:] or words[:1], options)
    if not rest:

        def run_input(environment: Mapping[str, str]) -> int:
            text = descriptors.rest_of(0).decode("utf-8", "surrogateescape")
            return shell.run(text, resolve, environment, words[:1], options)

        return _in_place(run_input)

    def run_file(environment: Mapping[str, str]) -> int:
        try:
            with open(rest[0], encoding="utf-8", errors="surrogateescape") as file:
                text = file.read()
        except OSError as error:
            utilities.refuse(words[0], f"{rest[0]}: {error.strerror}")
            return NOT_FOUND
        return shell.run(text, resolve, environment, rest, options)

    return _in_place(run_file)


def _env(words: list[str], environment: Mapping[str, str] | None, cwd: str | None) -> Program:
    """`env A=b program`, and without a program the list of variables."""
    given: dict[str, str] = {}
    removed: set[str] = set()
    is_empty = False
    while words and (words[0].startswith("-") or "=" in words[0]):
        word = words.pop(0)
        if word in ("-i", "-", "--ignore-environment"):
            is_empty = True
        elif word == "--":
            while words and "=" in words[0]:
                _assign(given, words.pop(0))
            break
        elif word in ("-u", "--unset") and words:
            removed.add(words.pop(0))
        elif word.startswith("--unset=") or (word.startswith("-u") and len(word) > 2):
            removed.add(word.removeprefix("--unset=").removeprefix("-u"))
        elif word == "-S" and words:
            words[:1] = shlex.split(words[0])
        elif not word.startswith("-"):
            _assign(given, word)
        else:
            raise missing([f"env {word}"])
    inner = resolve(words, environment, cwd) if words else None

    def run(*, environment: Any = None, **options: Any) -> int:
        before: Any = os.environ if environment is None else environment
        kept = {} if is_empty else {name: before[name] for name in before if name not in removed}
        variables = {**kept, **given}
        if inner is None:
            listed = "".join(f"{name}={value}\n" for name, value in variables.items())
            return _in_place(lambda _: utilities.write(listed))(environment=variables, **options)
        return inner(environment=variables, **options)

    return run


def _assign(variables: dict[str, str], word: str) -> None:
    name, _, value = word.partition("=")
    variables[name] = value


def _file(path: str, words: list[str], environment: Mapping[str, str] | None, cwd: str | None) -> Program:
    """A file that is executed: a script whose first line names Python or a shell."""
    if os.path.isdir(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), words[0])
    with open(path, "rb") as file:
        line = file.read(_FIRST_LINE_MAX).partition(b"\n")[0].decode("utf-8", "replace")
    if not line.startswith("#!"):
        if path.endswith(".py"):
            return _python(words)
        raise OSError(errno.ENOEXEC, "Exec format error", words[0])
    interpreter = line[2:].split()
    if interpreter and posixpath.basename(interpreter[0]) == "env":
        interpreter = [word for word in interpreter[1:] if word != "-S"]
    if not interpreter:
        raise OSError(errno.ENOEXEC, "Exec format error", words[0])
    return resolve([*interpreter, *words], environment, None)


# `os`


def status_of(code: int) -> int:
    """The status that `os.system` and `os.wait` report of an exit code."""
    return -code if code < 0 else code << 8


def _executed(words: Sequence[Any], environment: Any, file: Any = None) -> int:
    texts = [os.fsdecode(word) for word in words]
    variables = None if environment is None else decoded(environment)
    program = resolve([os.fsdecode(file), *texts[1:]] if file is not None else texts, variables)
    return program(environment=variables)


def decoded(environment: Mapping[Any, Any]) -> dict[str, str]:
    """An environment as texts.

    Raises:
        TypeError: A name or a value is no text.
        ValueError: One of them cannot be in an environment.
    """
    found = {}
    for name, value in environment.items():
        name, value = os.fsdecode(name), os.fsdecode(value)
        if not name or "=" in name[1:] or "\0" in name + value:
            raise ValueError("illegal environment variable name")
        found[name] = value
    return found


def system(command: Any) -> int:
    """Executes a command line, and returns its status."""
    return status_of(shell_program(os.fsdecode(command))())


def _execute(file: Any, *args: Any, is_list: bool, has_environment: bool) -> None:
    words, environment = _words(args, is_list, has_environment)
    if not words:
        raise ValueError("execv() arg 2 must not be empty")
    code = _executed(words, environment, file)
    raise SystemExit(code if code >= 0 else 128 - code)


def _spawn(mode: int, file: Any, *args: Any, is_list: bool, has_environment: bool) -> int:
    """As with `P_WAIT`; without waiting, the status is kept for `os.waitpid`."""
    words, environment = _words(args, is_list, has_environment)
    try:
        code = _executed(words, environment, file)
    except FileNotFoundError:
        if mode != 0:
            raise
        code = NOT_FOUND
    return code if mode == 0 else processes.note_end(status_of(code))


def _words(args: tuple[Any, ...], is_list: bool, has_environment: bool) -> tuple[list[Any], Any]:
    *rest, last = args
    environment = last if has_environment else None
    words = rest if has_environment else [*rest, last]
    return (words if is_list else list(words[0])), environment


def _posix_spawn(path: Any, argv: Any, env: Any = None, /, **options: Any) -> int:
    if options.get("file_actions"):
        raise NotImplementedError("posix_spawn: use subprocess.run to redirect descriptors")
    return processes.note_end(status_of(_executed(list(argv), env, path)))


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
    replaced: dict[str, Any] = {"system": system}
    for how in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe"):
        options = {"is_list": how.startswith("l"), "has_environment": how.endswith("e")}
        replaced[f"exec{how}"] = _with_options(_execute, options)
        replaced[f"spawn{how}"] = _with_options(_spawn, options)
    for name in ("posix_spawn", "posix_spawnp"):
        replaced[name] = _posix_spawn
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


def _with_options(function: Callable[..., Any], options: dict[str, bool]) -> Callable[..., Any]:
    def called(*args: Any) -> Any:
        return function(*args, **options)

    return called


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def called(*args: Any, **named: Any) -> Any:
        return function(*args, **named)

    called.__name__ = called.__qualname__ = name
    called.__module__ = "os"
    return called


def which(find: Callable[..., Any]) -> Callable[..., Any]:
    """Lets `shutil.which` find what can be started though it is no file."""

    def which(cmd: Any, mode: int = os.F_OK | os.X_OK, path: Any = None) -> Any:
        found = find(cmd, mode, path)
        if found is not None or not isinstance(cmd, str) or not cmd:
            return found
        if cmd == sys.executable or _PYTHON.fullmatch(cmd):
            return sys.executable or places.INTERPRETER
        if posixpath.basename(cmd) in _SHELLS or utilities.find(cmd) is not None:
            return cmd if "/" in cmd else f"/usr/bin/{cmd}"
        return None

    which.__module__ = "shutil"
    return which


__all__ = ["NOT_FOUND", "PROCESSES", "Missing", "missing", "resolve", "shell_program"]
