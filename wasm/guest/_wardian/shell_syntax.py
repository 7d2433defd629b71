"""The grammar of command lines: what a shell would execute, as a tree.

A text is read as a whole before any of it is executed, and one that needs more than this grammar is refused.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_OPERATORS = ("&&", "||", ";;", "<<-", "<<<", "<<", ">>", ">&", "<&", "&>>", "&>", ">|", ";", "&", "|", "(", ")", "<", ">", "\n")
_ORDERED = sorted(_OPERATORS, key=len, reverse=True)
_REDIRECTIONS = frozenset({"<", ">", ">>", ">&", "<&", "&>", "&>>", ">|", "<<", "<<-", "<<<"})
_RESERVED = frozenset({"then", "elif", "else", "fi", "do", "done", "}"})
_NOT_UNDERSTOOD = frozenset({"case", "function", "select", "until", "[[", "esac"})


class ShellSyntaxError(Exception):
    """A command line that cannot be executed here."""


class Part(NamedTuple):
    """A piece of a word: `text`, or the `variable` or `command` whose value is inserted."""

    kind: str
    text: str
    is_quoted: bool
    default: list[Part] | None = None


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

    def __init__(self, text: str) -> None:
        self.text = text.replace("\\\n", "")
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
        self.tokens.append(_Token("word", text[start : self.at], word))
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
            word = [Part("text", content, True)] if is_quoted else _Reader(content).quoted("")
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
                parts.append(Part("text", text[self.at : self.at + 1], True))
                self.at += 1
            elif letter in "$`":
                parts.append(self._inserted(letter, False))
            else:
                parts.append(Part("text", letter, False))
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
            end = text.find("`", self.at)
            if end < 0:
                raise ShellSyntaxError("Syntax error: EOF in backquote substitution")
            source, self.at = text[self.at : end], end + 1
            return Part("command", source, is_quoted)
        if text.startswith("((", self.at):
            raise ShellSyntaxError("`$((` is not understood here: calculate in Python")
        if text.startswith("(", self.at):
            return Part("command", self._parenthesis(), is_quoted)
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

    def _parenthesis(self) -> str:
        depth, start, quote = 0, self.at + 1, ""
        while self.at < len(self.text):
            letter = self.text[self.at]
            self.at += 1
            if quote:
                quote = "" if letter == quote else quote
            elif letter in "'\"":
                quote = letter
            elif letter == "\\":
                self.at += 1
            elif letter in "()":
                depth += 1 if letter == "(" else -1
                if not depth:
                    return self.text[start : self.at - 1]
        raise ShellSyntaxError("Syntax error: end of file unexpected (expecting \")\")")

    def _braces(self, is_quoted: bool) -> Part:
        end = self.text.find("}", self.at)
        inner = self.text[self.at + 1 : end] if end > 0 else ""
        self.at = end + 1
        name = _NAME.match(inner) or re.match(r"[?#@*0-9]", inner)
        if name and name.end() == len(inner):
            return Part("variable", inner, is_quoted)
        if name and inner[name.end() :].startswith((":-", "-")):
            default = inner[name.end() :].removeprefix(":").removeprefix("-")
            return Part("variable", name[0], is_quoted, _Reader(default).quoted(""))
        raise ShellSyntaxError(f"`${{{inner}}}` is not understood here: use Python")


class _Parser:
    """Makes a tree of tokens."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
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
            return Compound("(", parts, self.redirections())
        if self.next.kind == "word":
            text = self.next.text
            if text in _NOT_UNDERSTOOD:
                raise ShellSyntaxError(f"`{text}` is not understood here: write it in Python")
            if text in ("{", "if", "for", "while"):
                self.take()
                parts = getattr(self, {"{": "braces"}.get(text, f"{text}_parts"))()
                return Compound(text, parts, self.redirections())
            if text in _RESERVED:
                raise ShellSyntaxError(f'Syntax error: "{text}" unexpected')
        return self.simple()

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
        return Simple(assignments, words, redirections)


def parsed(text: str) -> list[Item]:
    """Reads a text.

    Raises:
        ShellSyntaxError: It is wrong, or needs more than this grammar.
    """
    return _Parser(_Reader(text).read()).items()
