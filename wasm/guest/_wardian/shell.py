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

from _wardian import descriptors, files, shell_arithmetic, shell_options, shell_syntax
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


class _Jump(Exception):
    """Leaves loops: `break`, or goes on with the next turn of the last of them: `continue`."""

    def __init__(self, levels: int, is_break: bool) -> None:
        super().__init__(levels)
        self.levels, self.is_break = levels, is_break


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

    def __init__(
        self,
        resolve: Resolve,
        environment: Mapping[str, str],
        arguments: Sequence[str],
        options: shell_options.Options,
    ) -> None:
        self._resolve = resolve
        self._variables = dict(environment)
        self._exported = set(environment)
        self._arguments = list(arguments) or ["/bin/sh"]
        self._status = 0
        self._options = options
        self._more: dict[int, int] = {}  # descriptors from 3 on, which programs do not get
        self._kept: list[int] = []
        self._tested = 0
        self._loops = 0
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
        except Exception as error:
            self._say(f"{type(error).__name__}: {error}")
            return 2
        finally:
            self._close_kept([])
        return self._status

    def _close_kept(self, before: list[int]) -> None:
        """Closes the files that `exec` has opened since."""
        for number in self._kept[len(before) :]:
            descriptors.close(number)
        self._kept = before

    def _fail(self, text: str) -> _Exit:
        """Says why the shell ends."""
        self._say(text)
        return _Exit(2)

    def _say(self, text: str) -> None:
        descriptors.put(2, f"{self._arguments[0]}: 1: {text}\n".encode("utf-8", "surrogateescape"))

    # Lists and pipelines.

    def _items(self, items: list[Item], is_condition: bool = False) -> None:
        for at, (operator, pipeline) in enumerate(items):
            if operator == "&&" and self._status or operator == "||" and not self._status:
                continue
            is_last = at + 1 == len(items) or items[at + 1].operator == ";"
            is_tested = is_condition or not is_last or pipeline.is_negated
            self._tested += is_tested
            try:
                self._pipeline(pipeline)
            finally:
                self._tested -= is_tested

    def _pipeline(self, pipeline: Pipeline) -> None:
        source: int | None = None
        *first, last = pipeline.commands
        failed = 0
        try:
            for command in first:
                into = descriptors.scratch()
                wanted = {1: into} if source is None else {0: source, 1: into}
                with descriptors.Redirection(wanted):
                    self._subshell(command)
                failed = self._status or failed
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
        if "pipefail" in self._options.names:
            self._status = self._status or failed
        if pipeline.is_negated:
            self._status = 0 if self._status else 1
        is_plain = first or isinstance(last, Simple) or last.kind == "("
        if self._status and is_plain and "errexit" in self._options.names and not self._tested:
            raise _Exit(self._status)

    def _subshell(self, command: Simple | Compound) -> None:
        """Executes a command whose changes of variables, folders, options and descriptors do not stay."""
        variables, exported, folder = dict(self._variables), set(self._exported), os.getcwd()
        options, arguments, mask = self._options, list(self._arguments), files.present_umask()
        more, kept = dict(self._more), list(self._kept)
        try:
            with descriptors.Redirection({}):
                self._command(command)
        except _Exit as stop:
            self._status = stop.code
        except _Jump:
            self._status = 0
        finally:
            self._variables, self._exported = variables, exported
            self._options, self._arguments, self._more = options, arguments, more
            self._close_kept(kept)
            if files.present_umask() != mask:
                os.umask(mask)
            with contextlib.suppress(OSError):
                os.chdir(folder)

    def _command(self, command: Simple | Compound) -> None:
        is_exec = shell_syntax.is_plain_exec(command)
        try:
            if is_exec:
                self._keep_redirected(command.redirections)
                return
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
        if is_exec:
            raise _Exit(2)

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
                if not self._turn(body):
                    break
        else:
            self._while(*parts)

    def _while(self, condition: list[Item], body: list[Item]) -> None:
        status = 0
        for _ in range(_LOOPS_MAX):
            if not self._turn(condition, is_condition=True):
                self._status = 0
                return
            if self._status:
                self._status = status
                return
            if not self._turn(body):
                return
            status = self._status
        raise self._fail(f"a loop has more than {_LOOPS_MAX} turns: use Python")

    def _turn(self, items: list[Item], is_condition: bool = False) -> bool:
        """Executes a turn of a loop. False if it was the last one."""
        self._loops += 1
        try:
            self._items(items, is_condition)
        except _Jump as jump:
            self._status = 0
            if jump.levels > 1:
                raise _Jump(jump.levels - 1, jump.is_break) from None
            return not jump.is_break
        finally:
            self._loops -= 1
        return True

    @contextlib.contextmanager
    def _redirected(self, wanted: list[Redirection]) -> Iterator[None]:
        if not wanted:
            yield
            return
        opened: list[int] = []
        before = self._more
        try:
            table, self._more = self._opened(wanted, opened)
            with descriptors.Redirection(table):
                yield
        finally:
            self._more = before
            for number in opened:
                descriptors.close(number)

    def _keep_redirected(self, wanted: list[Redirection]) -> None:
        """Redirects until the shell ends."""
        opened: list[int] = []
        try:
            table, self._more = self._opened(wanted, opened)
            descriptors.put_in_place(table)
        finally:
            kept = set(self._more.values())
            for number in opened:
                self._kept.append(number) if number in kept else descriptors.close(number)
        self._status = 0

    def _opened(self, wanted: list[Redirection], opened: list[int]) -> tuple[dict[int, int], dict[int, int]]:
        """What becomes of the standard descriptors, and of those from 3 on. Notes the files that it opens."""
        table = {0: 0, 1: 1, 2: 2}
        more = dict(self._more)

        def note(number: int) -> int:
            opened.append(number)
            return number

        def put(place: int, number: int, is_new: bool) -> None:
            if place in table:
                table[place] = number
            else:
                more[place] = number if is_new else note(descriptors.duplicate(number))

        for number, operator, target in wanted:
            place = (0 if operator.startswith("<") else 1) if number is None else number
            if operator in ("<<", "<<-", "<<<"):
                text = self._text(target) + ("\n" if operator == "<<<" else "")
                put(place, note(descriptors.scratch(text.encode("utf-8", "surrogateescape"))), True)
                continue
            path = self._text(target)
            if operator in (">&", "<&") and path == "-":
                if place in table:
                    table[place] = note(descriptors.nowhere())
                else:
                    more.pop(place, None)
            elif operator in (">&", "<&") and path.isdigit():
                source = table.get(int(path), more.get(int(path)))
                if source is None:
                    raise _Unopened(f"{path}: Bad file descriptor")
                put(place, source, False)
            elif operator == "<":
                put(place, note(_opened(path, os.O_RDONLY, "open")), True)
            else:
                flags = os.O_APPEND if ">>" in operator else os.O_TRUNC
                file = note(_opened(path, os.O_WRONLY | os.O_CREAT | flags, "create"))
                if operator.startswith("&") or operator == ">&":
                    table[1] = table[2] = file
                else:
                    put(place, file, True)
        return table, more

    # Simple commands.

    def _simple(self, command: Simple) -> None:
        self._last_substitution = None
        words = self._fields(command.words)
        values = {name: self._text(word) for name, word in command.assignments}
        if words[:1] == ["read"]:
            values.pop("IFS", None)
            self._variables.update(values)
            self._status = self._read(words[1:], is_whole=any(name == "IFS" for name, _ in command.assignments))
            return
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
        if not words:
            raise self._fail("set: without words is not understood here: use env")
        try:
            self._options, rest, has_end = shell_options.read(words, self._options, is_start=False)
        except shell_options.OptionError as error:
            raise self._fail(f"set: {error}") from None
        if rest or has_end:
            self._arguments[1:] = rest
        return 0

    def _do_shift(self, words: list[str]) -> int:
        count = self._count(words)
        if count >= len(self._arguments):
            raise self._fail("shift: can't shift that many")
        del self._arguments[1 : count + 1]
        return 0

    def _count(self, words: list[str]) -> int:
        if words and not (words[0].isascii() and words[0].isdigit() and len(words[0]) < 10):
            raise self._fail(f"Illegal number: {words[0]}")
        return int(words[0]) if words else 1

    def _do_break(self, words: list[str], is_break: bool = True) -> int:
        levels = self._count(words)
        if not levels:
            raise self._fail("Illegal number: 0")
        if self._loops:
            raise _Jump(min(levels, self._loops), is_break)
        return 0

    def _do_continue(self, words: list[str]) -> int:
        return self._do_break(words, is_break=False)

    def _read(self, words: list[str], is_whole: bool) -> int:
        """`read [-r] NAME…`: the words of a line, the last name gets what is left."""
        names = [word for word in words if word != "-r"]
        is_raw = len(names) < len(words)
        if not names or not all(name.isidentifier() for name in names):
            self._say("read: only `read [-r] NAME ...` is understood here")
            return 2
        letters: list[tuple[str, bool]] = []  # and whether a backslash protects it
        while True:
            line = descriptors.line_of(0).decode("utf-8", "surrogateescape")
            body = line.removesuffix("\n")
            at = 0
            while at < len(body):
                is_kept = body[at] == "\\" and not is_raw
                at += is_kept
                if at < len(body):
                    letters.append((body[at], is_kept))
                at += 1
            if at == len(body) or line == body:
                break
        values = _divided(letters, len(names)) if not is_whole else ["".join(letter for letter, _ in letters)]
        for name, value in zip(names, [*values, *[""] * len(names)], strict=False):
            self._variables[name] = value
        return 0 if line.endswith("\n") else 1

    def _do_exec(self, words: list[str]) -> int:
        raise _Exit(self._program(words, self._environment()) if words else 0)

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
        return "".join(self._text_of(part) for part in self._resolved(self._with_home(word)))

    def _resolved(self, word: Word) -> Word:
        """The word with the defaults of its variables in the place of those that have no value."""
        found: Word = []
        for part in word:
            if part.default is None or (self._value(part.text) if part.is_for_empty else self._is_set(part.text)):
                found.append(part._replace(default=None) if part.default is not None else part)
                continue
            found += self._resolved(part.default)
            if part.is_quoted:
                found.append(Part("text", "", True))
        return found

    def _is_set(self, name: str) -> bool:
        if name.isdigit():
            return int(name) < len(self._arguments)
        return len(self._arguments) > 1 if name in ("@", "*") else name in ("?", "#") or name in self._variables

    def _with_home(self, word: Word) -> Word:
        is_home = word and word[0][:3] == ("text", "~", False) and (len(word) == 1 or word[1].text[:1] == "/")
        return [Part("text", self._variables.get("HOME", "~"), True), *word[1:]] if is_home else word

    def _expanded(self, word: Word) -> list[str]:
        """The values of a word: divided where a variable has spaces, and with names of files for `*`."""
        if [part[:3] for part in word] == [("variable", "@", True)] and word[0].default is None:
            return self._arguments[1:]
        fields: list[list[tuple[str, bool]]] = [[]]
        for part in self._resolved(self._with_home(word)):
            value = self._text_of(part)
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

    def _text_of(self, part: Part) -> str:
        if part.kind == "command":
            return self._output_of(part.items or [])
        if part.kind == "arithmetic":
            return self._calculated(part.items or [])
        if part.kind != "variable":
            return part.text
        name = part.text
        if "nounset" in self._options.names and not self._is_set(name) and (name.isidentifier() or name.isdigit()):
            raise self._fail(f"{name}: parameter not set")
        return self._value(name)

    def _calculated(self, expression: Word) -> str:
        text = "".join(self._text_of(part) for part in self._resolved(expression))
        try:
            return str(shell_arithmetic.value_of(text, self._value, self._variables.__setitem__))
        except shell_arithmetic.ArithmeticSyntaxError as error:
            raise self._fail(str(error)) from None

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

    def _output_of(self, items: list[Item]) -> str:
        into = descriptors.scratch()
        tested, self._tested = self._tested, 0
        try:
            with descriptors.Redirection({1: into}):
                self._subshell(Compound("{", [items], []))
            self._last_substitution = self._status
            return descriptors.content_of(into).decode("utf-8", "surrogateescape").rstrip("\n")
        finally:
            self._tested = tested
            descriptors.close(into)


def _divided(letters: list[tuple[str, bool]], count: int) -> list[str]:
    """Divides a line at its spaces into so many words, the last of which is the rest."""

    def is_space(at: int) -> bool:
        return letters[at][0] in " \t\n" and not letters[at][1]

    end = len(letters)
    while end and is_space(end - 1):
        end -= 1
    found = []
    at = 0
    while at < end and len(found) < count:
        while at < end and is_space(at):
            at += 1
        start = at
        while at < end and (len(found) + 1 == count or not is_space(at)):
            at += 1
        found.append("".join(letter for letter, _ in letters[start:at]))
    return found


_depth = 0


def run(
    text: str,
    resolve: Resolve,
    environment: Mapping[str, str],
    arguments: Sequence[str] = (),
    options: shell_options.Options | None = None,
) -> int:
    """Executes a text in the present folder, which stays the present one, and returns the exit code."""
    global _depth
    if _depth >= DEPTH_MAX:
        raise BlockingIOError(11, f"Resource temporarily unavailable: {DEPTH_MAX} shells run inside of each other")
    folder = os.getcwd()
    _depth += 1
    try:
        return Shell(resolve, environment, arguments, options or shell_options.Options()).run(text)
    finally:
        _depth -= 1
        with contextlib.suppress(OSError):
            os.chdir(folder)
