"""The grammar of command lines: what a shell would execute, as a tree.

A text is read as a whole before any of it is executed, and one that needs more than this grammar is refused.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from _wardian import shell_options

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_OPERATORS = ("&&", "||", ";;", "<<-", "<<<", "<<", ">>", ">&", "<&", "&>>", "&>", ">|", ";", "&", "|", "(", ")", "<", ">", "\n")
_ORDERED = sorted(_OPERATORS, key=len, reverse=True)
_BACKQUOTED = re.compile(r"((?:[^`\\]|\\.)*)`", re.S)
_REDIRECTIONS = frozenset({"<", ">", ">>", ">&", "<&", "&>", "&>>", ">|", "<<", "<<-", "<<<"})
_RESERVED = frozenset({"then", "elif", "else", "fi", "do", "done", "}"})
_NOT_UNDERSTOOD = frozenset({"case", "function", "select", "until", "[[", "esac"})
_NO_COMMANDS = frozenset(
    {"trap", "return", "local", "readonly", "getopts", "declare", "typeset", "alias", "shopt", "let", "ulimit"}
)
"""Commands of a shell that do not exist: without them a script would do something else."""

_NESTED_MAX = 30
"""Most lists of commands inside of each other."""


class ShellSyntaxError(Exception):
    """A command line that cannot be executed here."""


class Part(NamedTuple):
    """A piece of a word: `text`, or the `variable`, `command` or `arithmetic` whose value is inserted."""

    kind: str
    text: str
    is_quoted: bool
    default: list[Part] | None = None
    is_for_empty: bool = False
    """True if the default is taken in the place of an empty value too."""
    items: list[Any] | None = None
    """What a `command` executes, and the parts of an expression."""


Word = list[Part]


class Redirection(NamedTuple):
    """A standard descriptor, the operator, and the word behind it."""

    number: int | None
    operator: str
    target: Word


class Simple(NamedTuple):
    """A command with its arguments."""

    assignments: list[tuple[str, Word]]
    words: list[Word]
    redirections: list[Redirection]


class Compound(NamedTuple):
    """`( list )`, `{ list }`, `if`, `for` or `while`, as `kind`."""

    kind: str
    parts: list[Any]
    redirections: list[Redirection]


class Pipeline(NamedTuple):
    """Commands whose outputs are the inputs of the next ones."""

    commands: list[Simple | Compound]
    is_negated: bool


class Item(NamedTuple):
    """A pipeline, and the operator in front of it: `;`, `&&` or `||`."""

    operator: str
    pipeline: Pipeline


class _Token(NamedTuple):
    kind: str  # `word`, `operator` or `end`
    text: str
    word: Word
    number: int | None = None


class _Reader:
    """Divides a text into words and operators."""

    def __init__(self, text: str, depth: int = 0) -> None:
        if depth > _NESTED_MAX:
            raise ShellSyntaxError(f"commands are nested more than {_NESTED_MAX} deep: use Python")
        self.text = text
        self.depth = depth
        self.at = 0
        self.tokens: list[_Token] = []
        self.pending: list[tuple[int, str, bool, bool]] = []

    def read(self) -> list[_Token]:
        """Returns all tokens."""
        text = self.text
        while self.at < len(text):
            letter = text[self.at]
            if letter in " \t\r":
                self.at += 1
            elif text.startswith("\\\n", self.at):
                self.at += 2
            elif letter == "#":
                while self.at < len(text) and text[self.at] != "\n":
                    self.at += 1
            else:
                self._token()
        if self.pending:
            self._documents()
        self.tokens.append(_Token("end", "the end", []))
        return self.tokens

    def _token(self) -> None:
        text = self.text
        number = None
        digits = re.compile(r"(\d+)(?=[<>])").match(text, self.at)
        if digits:
            number, self.at = int(digits[1]), digits.end()
        for operator in _ORDERED:
            if text.startswith(operator, self.at):
                self.at += len(operator)
                self.tokens.append(_Token("operator", operator, [], number))
                if operator == "\n" and self.pending:
                    self._documents()
                return
        start = self.at
        word = self.word()
        self.tokens.append(_Token("word", text[start : self.at].replace("\\\n", ""), word))
        before = self.tokens[-2] if len(self.tokens) > 1 else None
        if before is not None and before.text in ("<<", "<<-") and before.kind == "operator":
            end = "".join(part.text for part in word)
            is_quoted = any(part.is_quoted for part in word)
            self.pending.append((len(self.tokens) - 1, end, is_quoted, before.text == "<<-"))

    def _documents(self) -> None:
        """Reads the texts of here-documents, which follow the line that names them."""
        for index, end, is_quoted, is_stripped in self.pending:
            lines = []
            while self.at < len(self.text):
                line, _, _ = self.text[self.at :].partition("\n")
                self.at += len(line) + 1
                line = line.lstrip("\t") if is_stripped else line
                if line == end:
                    break
                lines.append(f"{line}\n")
            content = "".join(lines)
            word = [Part("text", content, True)] if is_quoted else _Reader(content, self.depth).quoted("")
            self.tokens[index] = _Token("word", end, word)
        self.pending.clear()

    def word(self) -> Word:
        """Reads a word."""
        parts: Word = []
        text = self.text
        while self.at < len(text):
            letter = text[self.at]
            if letter in " \t\r\n;&|()<>":
                break
            self.at += 1
            if letter == "'":
                end = text.find("'", self.at)
                if end < 0:
                    raise ShellSyntaxError("Syntax error: Unterminated quoted string")
                parts.append(Part("text", text[self.at : end], True))
                self.at = end + 1
            elif letter == '"':
                parts += self.quoted('"') or [Part("text", "", True)]
            elif letter == "\\":
                if text[self.at : self.at + 1] != "\n":
                    parts.append(Part("text", text[self.at : self.at + 1], True))
                self.at += 1
            elif letter in "$`":
                parts.append(self._inserted(letter, False))
            else:
                parts.append(Part("text", letter, False))
        return parts

    def default(self, is_quoted: bool) -> Word:
        """Reads the text behind `${NAME:-`, which stands within double quotes or not."""
        parts: Word = []
        text = self.text
        while self.at < len(text):
            letter = text[self.at]
            self.at += 1
            if letter == "'" and not is_quoted:
                end = text.find("'", self.at)
                parts.append(Part("text", text[self.at : end], True))
                self.at = end + 1
            elif letter == '"' and not is_quoted:
                parts += self.quoted('"') or [Part("text", "", True)]
            elif letter == '"':
                continue
            elif letter == "\\" and (not is_quoted or text[self.at : self.at + 1] in tuple('$`"\\}\n')):
                parts.append(Part("text", text[self.at : self.at + 1].replace("\n", ""), True))
                self.at += 1
            elif letter in "$`":
                parts.append(self._inserted(letter, is_quoted))
            else:
                parts.append(Part("text" if is_quoted else "split", letter, is_quoted))
        return parts

    def quoted(self, end: str) -> Word:
        """Reads what stands within double quotes, or a here-document without `end`."""
        parts: Word = []
        text = self.text
        while self.at < len(text):
            letter = text[self.at]
            self.at += 1
            if end and letter == end:
                return parts
            if letter == "\\" and text[self.at : self.at + 1] in tuple('$`\\\n' + end):
                parts.append(Part("text", text[self.at : self.at + 1].replace("\n", ""), True))
                self.at += 1
            elif letter in "$`":
                parts.append(self._inserted(letter, True))
            else:
                parts.append(Part("text", letter, True))
        if end:
            raise ShellSyntaxError("Syntax error: Unterminated quoted string")
        return parts

    def _inserted(self, letter: str, is_quoted: bool) -> Part:
        text = self.text
        if letter == "`":
            match = _BACKQUOTED.match(text, self.at)
            if match is None:
                raise ShellSyntaxError("Syntax error: EOF in backquote substitution")
            self.at = match.end()
            source = re.sub(r'\\([$`\\"])' if is_quoted else r"\\([$`\\])", r"\1", match[1])
            return self._command(source, is_quoted)
        if text.startswith("(", self.at):
            inner = self._enclosed("(", ")", True)
            return self._arithmetic(inner, is_quoted) or self._command(inner, is_quoted)
        if text.startswith("{", self.at):
            return self._braces(is_quoted)
        name = _NAME.match(text, self.at)
        if name:
            self.at = name.end()
            return Part("variable", name[0], is_quoted)
        if self.at < len(text) and text[self.at] in "?$#@*!0123456789":
            self.at += 1
            return Part("variable", text[self.at - 1], is_quoted)
        return Part("text", "$", is_quoted)

    def _arithmetic(self, inner: str, is_quoted: bool) -> Part | None:
        """The expression of `$((…))`, and `None` for a command that begins with a bracket."""
        if not inner.startswith("("):
            return None
        reader = _Reader(inner, self.depth + 1)
        expression = reader._enclosed("(", ")", True)
        if reader.at < len(inner):
            return None
        parts = _Reader(expression.replace('"', ""), self.depth + 1).quoted("")
        return Part("arithmetic", expression, is_quoted, items=parts)

    def _command(self, source: str, is_quoted: bool) -> Part:
        return Part("command", source, is_quoted, items=parsed(source, self.depth + 1))

    def _enclosed(self, opening: str, closing: str, has_quotes: bool) -> str:
        """Reads up to the bracket that belongs to this one. Without quotes, `'` is a letter as any other."""
        depth, start, quote = 0, self.at + 1, ""
        while self.at < len(self.text):
            letter = self.text[self.at]
            self.at += 1
            if quote:
                self.at += letter == "\\" and quote == '"'
                quote = "" if letter == quote else quote
            elif letter == '"' or letter == "'" and has_quotes:
                quote = letter
            elif letter == "\\":
                self.at += 1
            elif letter in (opening, closing):
                depth += 1 if letter == opening else -1
                if not depth:
                    return self.text[start : self.at - 1]
        raise ShellSyntaxError(f'Syntax error: end of file unexpected (expecting "{closing}")')

    def _braces(self, is_quoted: bool) -> Part:
        inner = self._enclosed("{", "}", not is_quoted)
        name = _NAME.match(inner) or re.match(r"[?#@*]|\d+", inner)
        if name and name.end() == len(inner):
            return Part("variable", inner, is_quoted)
        if name and inner[name.end() :].startswith((":-", "-")):
            behind = inner[name.end() :]
            default = _Reader(behind.removeprefix(":").removeprefix("-"), self.depth + 1).default(is_quoted)
            return Part("variable", name[0], is_quoted, default, is_for_empty=behind.startswith(":"))
        raise ShellSyntaxError(f"`${{{inner}}}` is not understood here: use Python")


class _Parser:
    """Makes a tree of tokens."""

    def __init__(self, tokens: list[_Token], depth: int) -> None:
        self.tokens = tokens
        self.depth = depth
        self.at = 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def take(self) -> _Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def is_operator(self, *texts: str) -> bool:
        return self.next.kind == "operator" and self.next.text in texts

    def is_word(self, *texts: str) -> bool:
        return self.next.kind == "word" and self.next.text in texts

    def skip_lines(self) -> None:
        while self.is_operator("\n"):
            self.at += 1

    def expect(self, text: str) -> None:
        self.skip_lines()
        if self.next.text != text:
            raise ShellSyntaxError(f'Syntax error: "{self._shown()}" unexpected (expecting "{text}")')
        self.at += 1

    def _shown(self) -> str:
        return self.next.text.replace("\n", "newline")

    def items(self, *ends: str) -> list[Item]:
        """Reads pipelines until one of the words or operators."""
        if self.depth >= _NESTED_MAX:
            raise ShellSyntaxError(f"commands are nested more than {_NESTED_MAX} deep: use Python")
        self.depth += 1
        try:
            return self._items(ends)
        finally:
            self.depth -= 1

    def _items(self, ends: tuple[str, ...]) -> list[Item]:
        found: list[Item] = []
        operator = ";"
        while True:
            self.skip_lines()
            if self.next.kind == "end" or self.next.text in ends:
                break
            found.append(Item(operator, self.pipeline()))
            if self.is_operator(";", "&", "\n"):
                self.take()
                operator = ";"
            elif self.is_operator("&&", "||"):
                operator = self.take().text
                self.skip_lines()
                if self.next.kind == "end":
                    raise ShellSyntaxError("Syntax error: end of file unexpected")
            elif self.next.kind != "end" and self.next.text not in ends:
                raise ShellSyntaxError(f'Syntax error: "{self._shown()}" unexpected')
        return found

    def pipeline(self) -> Pipeline:
        is_negated = False
        while self.is_word("!"):
            self.take()
            is_negated = not is_negated
        commands = [self.command()]
        while self.is_operator("|"):
            self.take()
            self.skip_lines()
            commands.append(self.command())
        return Pipeline(commands, is_negated)

    def command(self) -> Simple | Compound:
        if self.is_operator("("):
            self.take()
            parts: list[Any] = [self.items(")")]
            self.expect(")")
            return self._compound("(", parts)
        if self.next.kind == "word":
            text = self.next.text
            if text in _NOT_UNDERSTOOD:
                raise ShellSyntaxError(f"`{text}` is not understood here: write it in Python")
            if text in ("{", "if", "for", "while"):
                self.take()
                parts = getattr(self, {"{": "braces"}.get(text, f"{text}_parts"))()
                return self._compound(text, parts)
            if text in _RESERVED:
                raise ShellSyntaxError(f'Syntax error: "{text}" unexpected')
        return self.simple()

    def _compound(self, kind: str, parts: list[Any]) -> Compound:
        redirections = self.redirections()
        if redirections and kind != "(" and _keeps_redirections(parts):
            raise ShellSyntaxError("`exec` within redirected commands is not understood here: use Python")
        return Compound(kind, parts, redirections)

    def braces(self) -> list[Any]:
        found = self.items("}")
        self.expect("}")
        return [found]

    def if_parts(self) -> list[Any]:
        """Conditions and their lists in turn, and at the end the list behind `else`."""
        found: list[Any] = [self.items("then")]
        self.expect("then")
        found.append(self.items("elif", "else", "fi"))
        while self.is_word("elif"):
            self.take()
            found.append(self.items("then"))
            self.expect("then")
            found.append(self.items("elif", "else", "fi"))
        if self.is_word("else"):
            self.take()
            found.append(self.items("fi"))
        self.expect("fi")
        return found

    def while_parts(self) -> list[Any]:
        condition = self.items("do")
        self.expect("do")
        body = self.items("done")
        self.expect("done")
        return [condition, body]

    def for_parts(self) -> list[Any]:
        name = self.take().text
        if not _NAME.fullmatch(name) or name == "IFS":
            raise ShellSyntaxError(f"Syntax error: Bad for loop variable {name}")
        words: list[Word] = []
        self.expect("in")
        while self.next.kind == "word":
            words.append(self.take().word)
        while self.is_operator(";", "\n"):
            self.take()
        self.expect("do")
        body = self.items("done")
        self.expect("done")
        return [name, words, body]

    def redirections(self) -> list[Redirection]:
        found = []
        while self.next.kind == "operator" and self.next.text in _REDIRECTIONS:
            token = self.take()
            if self.next.kind != "word":
                raise ShellSyntaxError(f'Syntax error: "{self._shown()}" unexpected')
            found.append(Redirection(token.number, token.text, self.take().word))
        return found

    def simple(self) -> Simple:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirections: list[Redirection] = []
        while True:
            redirections += self.redirections()
            if self.next.kind != "word":
                break
            token = self.take()
            match = _ASSIGNMENT.match(token.text) if not words else None
            if match:
                assignments.append((match[0][:-1], token.word[match.end() :]))
            else:
                words.append(token.word)
        if self.is_operator("(") and len(words) == 1:
            raise ShellSyntaxError("functions are not understood here: write them in Python")
        if not words and not assignments and not redirections:
            raise ShellSyntaxError(f'Syntax error: "{self._shown()}" unexpected')
        _check(assignments, words)
        return Simple(assignments, words, redirections)


def literal(word: Word) -> str | None:
    """The text of a word without variables and commands, and `None` for another one."""
    return None if any(part.kind != "text" for part in word) else "".join(part.text for part in word)


def is_plain_exec(command: Simple | Compound) -> bool:
    """True for `exec` without a program, whose redirections stay."""
    return isinstance(command, Simple) and [literal(word) for word in command.words] == ["exec"]


def _keeps_redirections(part: Any) -> bool:
    """True if `exec` changes the descriptors of the shell anywhere in these parts of a command."""
    if isinstance(part, Simple):
        return is_plain_exec(part) and bool(part.redirections)
    if isinstance(part, Compound) and part.kind == "(":
        return False
    if isinstance(part, Pipeline) and len(part.commands) > 1:
        return False
    return isinstance(part, (list, tuple)) and any(_keeps_redirections(one) for one in part)


def _check(assignments: list[tuple[str, Word]], words: list[Word]) -> None:
    """Refuses commands that would do something else here."""
    texts = [literal(word) for word in words]
    name = texts[0] if texts else None
    if name in _NO_COMMANDS:
        raise ShellSyntaxError(f"`{name}` is not understood here: write it in Python")
    for variable, value in assignments:
        if variable == "IFS" and (name != "read" or literal(value) != ""):
            raise ShellSyntaxError("`IFS` cannot be set here but in `IFS= read`: divide texts in Python")
    if name in ("export", "read") and any(text and text.partition("=")[0] == "IFS" for text in texts[1:]):
        raise ShellSyntaxError("`IFS` cannot be set here: divide texts in Python")
    if name == "set":
        known = [text for text in texts[1:] if text is not None]
        try:
            shell_options.read(known, shell_options.Options(), is_start=False)
        except shell_options.OptionError as error:
            if len(known) + 1 == len(texts):
                raise ShellSyntaxError(f"set: {error}") from None


def parsed(text: str, depth: int = 0) -> list[Item]:
    """Reads a text.

    Raises:
        ShellSyntaxError: It is wrong, or needs more than this grammar.
    """
    return _Parser(_Reader(text, depth).read(), depth).items()
