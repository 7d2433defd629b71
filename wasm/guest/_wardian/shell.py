"""Executes command lines: `python x.py a > out.txt 2>&1 && python y.py`.

Programs are found by `programs.resolve`, which this module is given. Each runs to its end before the next one
begins, those of a pipeline too.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from _wardian import descriptors, shell_syntax
from _wardian.shell_syntax import Compound, Item, Part, Pipeline, Redirection, ShellSyntaxError, Simple, Word

NOT_FOUND = 127
"""Exit code of a shell that does not find a command."""

DEPTH_MAX = 16
"""Most command lines that run inside of each other."""

Program = Callable[..., int]
Resolve = Callable[[Sequence[str], Mapping[str, str]], Program]

_LOOPS_MAX = 100_000


class _Exit(Exception):
    """Ends the shell."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class _Unopened(Exception):
    """A file of a redirection cannot be opened."""


def _opened(path: str, flags: int, what: str) -> int:
    try:
        return os.open(path, flags, 0o666)
    except FileNotFoundError:
        reason = "No such file" if what == "open" else "Directory nonexistent"
        raise _Unopened(f"cannot {what} {path}: {reason}") from None
    except OSError as error:
        raise _Unopened(f"cannot {what} {path}: {error.strerror}") from None


class Shell:
    """A shell: its variables, and the exit code of the last command."""

    def __init__(self, resolve: Resolve, environment: Mapping[str, str], arguments: Sequence[str]) -> None:
        self._resolve = resolve
        self._variables = dict(environment)
        self._exported = set(environment)
        self._arguments = list(arguments) or ["sh"]
        self._status = 0
        self._ends_at_error = False
        self._last_substitution: int | None = None

    def run(self, text: str) -> int:
        """Executes a text and returns its exit code."""
        try:
            self._items(shell_syntax.parsed(text))
        except ShellSyntaxError as error:
            self._say(str(error))
            return 2
        except _Exit as stop:
            return stop.code
        return self._status

    def _say(self, text: str) -> None:
        name = "/bin/sh" if self._arguments[0] in ("sh", "/bin/sh") else self._arguments[0]
        descriptors.put(2, f"{name}: 1: {text}\n".encode("utf-8", "surrogateescape"))

    # Lists and pipelines.

    def _items(self, items: list[Item], is_condition: bool = False) -> None:
        for at, (operator, pipeline) in enumerate(items):
            if operator == "&&" and self._status or operator == "||" and not self._status:
                continue
            self._pipeline(pipeline)
            is_last = at + 1 == len(items) or items[at + 1].operator == ";"
            if self._status and self._ends_at_error and is_last and not is_condition:
                if not pipeline.is_negated:
                    raise _Exit(self._status)

    def _pipeline(self, pipeline: Pipeline) -> None:
        source: int | None = None
        *first, last = pipeline.commands
        try:
            for command in first:
                into = descriptors.scratch()
                wanted = {1: into} if source is None else {0: source, 1: into}
                with descriptors.Redirection(wanted):
                    self._subshell(command)
                if source is not None:
                    descriptors.close(source)
                os.lseek(into, 0, 0)
                source = into
            if source is None:
                self._command(last)
            else:
                with descriptors.Redirection({0: source}):
                    self._subshell(last)
        finally:
            if source is not None:
                descriptors.close(source)
        if pipeline.is_negated:
            self._status = 0 if self._status else 1

    def _subshell(self, command: Simple | Compound) -> None:
        """Executes a command whose changes of variables and folders do not stay."""
        variables, exported, folder = dict(self._variables), set(self._exported), os.getcwd()
        try:
            self._command(command)
        except _Exit as stop:
            self._status = stop.code
        finally:
            self._variables, self._exported = variables, exported
            with contextlib.suppress(OSError):
                os.chdir(folder)

    def _command(self, command: Simple | Compound) -> None:
        try:
            with self._redirected(command.redirections):
                if isinstance(command, Simple):
                    self._simple(command)
                else:
                    self._compound(command)
        except _Unopened as error:
            self._say(str(error))
            self._status = 2
        except OSError as error:
            path = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
            self._say(f"{path}{error.strerror or error}")
            self._status = 2

    def _compound(self, command: Compound) -> None:
        parts = command.parts
        if command.kind == "(":
            self._subshell(Compound("{", parts, []))
        elif command.kind == "{":
            self._items(parts[0])
        elif command.kind == "if":
            while len(parts) > 1:
                condition, body, *parts = parts
                self._items(condition, is_condition=True)
                if not self._status:
                    return self._items(body)
            self._status = 0
            if parts:
                self._items(parts[0])
        elif command.kind == "for":
            name, words, body = parts
            self._status = 0
            for value in self._fields(words):
                self._variables[name] = value
                self._items(body)
        else:
            for _ in range(_LOOPS_MAX):
                self._items(parts[0], is_condition=True)
                if self._status:
                    break
                self._items(parts[1])
            self._status = 0

    @contextlib.contextmanager
    def _redirected(self, wanted: list[Redirection]) -> Iterator[None]:
        table = {0: 0, 1: 1, 2: 2}
        opened: list[int] = []

        def note(number: int) -> int:
            opened.append(number)
            return number

        try:
            for number, operator, target in wanted:
                if operator in ("<<", "<<-", "<<<"):
                    text = self._text(target) + ("\n" if operator == "<<<" else "")
                    content = text.encode("utf-8", "surrogateescape")
                    table[number or 0] = note(descriptors.scratch(content))
                    continue
                path = self._text(target)
                if operator in (">&", "<&") and path == "-":
                    table[(1 if operator == ">&" else 0) if number is None else number] = note(descriptors.nowhere())
                    continue
                if operator in (">&", "<&") and path.isdigit():
                    table[(1 if operator == ">&" else 0) if number is None else number] = table.get(int(path), int(path))
                    continue
                if operator == "<":
                    table[number or 0] = note(_opened(path, os.O_RDONLY, "open"))
                    continue
                flags = os.O_APPEND if ">>" in operator else os.O_TRUNC
                file = note(_opened(path, os.O_WRONLY | os.O_CREAT | flags, "create"))
                if operator.startswith("&") or operator == ">&":
                    table[1] = table[2] = file
                else:
                    table[1 if number is None else number] = file
            with descriptors.Redirection(table):
                yield
        finally:
            for number in opened:
                descriptors.close(number)

    # Simple commands.

    def _simple(self, command: Simple) -> None:
        self._last_substitution = None
        words = self._fields(command.words)
        values = {name: self._text(word) for name, word in command.assignments}
        if not words:
            self._variables.update(values)
            self._status = self._last_substitution or 0
            return
        builtin = getattr(self, f"_do_{words[0]}", None) if words[0].isidentifier() else None
        if words[0] in (":", "."):
            builtin = {":": lambda words: 0, ".": self._do_source}[words[0]]
        if builtin is not None:
            self._variables.update(values)
            self._status = builtin(words[1:])
            return
        self._status = self._program(words, {**self._environment(), **values})

    def _environment(self) -> dict[str, str]:
        return {name: self._variables[name] for name in self._exported if name in self._variables}

    def _program(self, words: list[str], environment: Mapping[str, str]) -> int:
        try:
            program = self._resolve(words, environment)
        except FileNotFoundError as error:
            advice = getattr(error.filename, "advice", None)
            self._say(f"{words[0][:200]}: not found" + (f" ({advice})" if advice else ""))
            return NOT_FOUND
        except OSError as error:
            self._say(f"{words[0]}: {error.strerror}")
            return 126
        code = program(environment=environment)
        return code if code >= 0 else 128 - code

    def _do_cd(self, words: list[str]) -> int:
        target = words[0] if words else self._variables.get("HOME", "/workspace")
        if target == "-":
            target = self._variables.get("OLDPWD", os.getcwd())
        before = os.getcwd()
        try:
            os.chdir(target)
        except OSError:
            self._say(f"cd: can't cd to {target}")
            return 2
        self._variables["OLDPWD"], self._variables["PWD"] = before, os.getcwd()
        self._exported |= {"OLDPWD", "PWD"}
        return 0

    def _do_export(self, words: list[str]) -> int:
        for word in words:
            name, has_value, value = word.partition("=")
            if has_value:
                self._variables[name] = value
            self._exported.add(name)
        return 0

    def _do_unset(self, words: list[str]) -> int:
        for name in words:
            self._variables.pop(name, None)
            self._exported.discard(name)
        return 0

    def _do_exit(self, words: list[str]) -> int:
        raise _Exit(int(words[0]) & 0xFF if words and words[0].isdigit() else self._status)

    def _do_set(self, words: list[str]) -> int:
        for word in words:
            if word[:1] in "-+" and "e" in word[1:] and not word.startswith("--"):
                self._ends_at_error = word[0] == "-"
        return 0

    def _do_shift(self, words: list[str]) -> int:
        del self._arguments[1:2]
        return 0

    def _do_exec(self, words: list[str]) -> int:
        if not words:
            return 0
        raise _Exit(self._program(words, self._environment()))

    def _do_eval(self, words: list[str]) -> int:
        self._items(shell_syntax.parsed(" ".join(words)))
        return self._status

    def _do_source(self, words: list[str]) -> int:
        with open(words[0], encoding="utf-8") as file:
            text = file.read()
        self._items(shell_syntax.parsed(text))
        return self._status

    def _do_command(self, words: list[str]) -> int:
        if words[:1] in (["-v"], ["-V"]):
            return self._do_which(words[1:])
        return self._program(words, self._environment()) if words else 0

    def _do_which(self, words: list[str]) -> int:
        code = 0
        for word in words:
            try:
                self._resolve([word], self._environment())
            except OSError:
                code = 1
                continue
            path = word if "/" in word else f"/usr/bin/{word}"
            path = sys.executable or path if os.path.basename(path).startswith("python") else path
            descriptors.put(1, f"{path}\n".encode())
        return code

    _do_type = _do_which

    def _do_umask(self, words: list[str]) -> int:
        if words:
            os.umask(int(words[0], 8))
        return 0

    def _do_wait(self, words: list[str]) -> int:
        return 0

    # Words.

    def _fields(self, words: list[Word]) -> list[str]:
        found: list[str] = []
        for word in words:
            found += self._expanded(word)
        return found

    def _text(self, word: Word) -> str:
        """The value of a word that stays one."""
        values = [value for part in self._with_home(word) for value in self._values(part)]
        return "".join(values)

    def _with_home(self, word: Word) -> Word:
        is_home = word and word[0][:3] == ("text", "~", False) and (len(word) == 1 or word[1].text[:1] == "/")
        return [Part("text", self._variables.get("HOME", "~"), True), *word[1:]] if is_home else word

    def _expanded(self, word: Word) -> list[str]:
        """The values of a word: divided where a variable has spaces, and with names of files for `*`."""
        if [part[:2] for part in word] == [("variable", "@")]:
            return self._arguments[1:]
        fields: list[list[tuple[str, bool]]] = [[]]
        for part in self._with_home(word):
            value = "".join(self._values(part))
            if part.kind == "text" or part.is_quoted:
                fields[-1].append((value, part.is_quoted))
                continue
            pieces = re.split(r"[ \t\n]+", value)
            fields[-1].append((pieces[0], False))
            fields += [[(piece, False)] for piece in pieces[1:]]
        found: list[str] = []
        for field in fields:
            text = "".join(value for value, _ in field)
            if not text and not any(is_quoted for _, is_quoted in field):
                continue
            pattern = "".join(glob.escape(value) if is_quoted else value for value, is_quoted in field)
            names = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else []
            found += names or [text]
        return found

    def _values(self, part: Part) -> list[str]:
        if part.kind == "text":
            return [part.text]
        if part.kind == "command":
            return [self._output_of(part.text)]
        value = self._value(part.text)
        if not value and part.default is not None:
            return [self._text(part.default)]
        return [value]

    def _value(self, name: str) -> str:
        if name.isdigit():
            return self._arguments[int(name)] if int(name) < len(self._arguments) else ""
        special: dict[str, Callable[[], Any]] = {
            "?": lambda: self._status,
            "#": lambda: len(self._arguments) - 1,
            "@": lambda: " ".join(self._arguments[1:]),
            "*": lambda: " ".join(self._arguments[1:]),
            "$": os.getpid,
            "!": lambda: "",
        }
        if name in special:
            return str(special[name]())
        return self._variables.get(name, "")

    def _output_of(self, text: str) -> str:
        into = descriptors.scratch()
        try:
            items = shell_syntax.parsed(text)
            with descriptors.Redirection({1: into}):
                self._subshell(Compound("{", [items], []))
            self._last_substitution = self._status
            return descriptors.content_of(into).decode("utf-8", "surrogateescape").rstrip("\n")
        finally:
            descriptors.close(into)


_depth = 0


def run(text: str, resolve: Resolve, environment: Mapping[str, str], arguments: Sequence[str] = ()) -> int:
    """Executes a text in the present folder, which stays the present one, and returns the exit code."""
    global _depth
    if _depth >= DEPTH_MAX:
        raise BlockingIOError(11, f"Resource temporarily unavailable: {DEPTH_MAX} shells run inside of each other")
    folder = os.getcwd()
    _depth += 1
    try:
        return Shell(resolve, environment, arguments).run(text)
    finally:
        _depth -= 1
        with contextlib.suppress(OSError):
            os.chdir(folder)
