"""Arithmetic of shells, as in `$((i + 1))`: integers of 64 bits with the operators of C, as POSIX has it.

Variables stand with or without `$`, and may be assigned. What only some shells know, such as `**` and `++`, is
an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|\d+)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign><<=|>>=|[-+*/%&^|]=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&^|<>=!~?:()]))"
)
_NUMBER = re.compile(r"\s*([-+]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)\s*")
_LEVELS = (("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"), ("*", "/", "%"))
_ASSIGNMENTS = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="})
_DEPTH_MAX = 100


class ArithmeticSyntaxError(Exception):
    """An expression that has no value."""


def value_of(text: str, get: Callable[[str], str], put: Callable[[str, str], None]) -> int:
    """The value of an expression, in which `get` and `put` read and write variables.

    Raises:
        ArithmeticSyntaxError: It is wrong.
    """
    return _Expression(text, get, put).whole()


class _Expression:
    def __init__(self, text: str, get: Callable[[str], str], put: Callable[[str, str], None]) -> None:
        self._text, self._get, self._put = text, get, put
        self._tokens: list[tuple[str, str]] = []
        self._at = self._depth = 0
        at = 0
        while text[at:].strip():
            match = _TOKEN.match(text, at)
            if match is None:
                raise self._error("expecting primary")
            kind = str(match.lastgroup)
            self._tokens.append((kind, match[kind]))
            at = match.end()
        self._tokens.append(("end", ""))

    def _error(self, what: str) -> ArithmeticSyntaxError:
        return ArithmeticSyntaxError(f'arithmetic expression: {what}: "{self._text}"')

    def _is(self, *signs: str) -> bool:
        kind, text = self._tokens[self._at]
        return kind == "sign" and text in signs

    def _take(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1][1]

    def whole(self) -> int:
        if len(self._tokens) == 1:
            return 0
        value = self._assignment(True)
        if self._tokens[self._at][0] != "end":
            raise self._error("expecting EOF")
        return value

    def _assignment(self, counts: bool) -> int:
        """`counts` is false for what is read and not evaluated, such as the other side of a choice."""
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise self._error(f"nested more than {_DEPTH_MAX} deep")
        try:
            kind, name = self._tokens[self._at]
            sign = self._tokens[min(self._at + 1, len(self._tokens) - 1)]
            if kind != "name" or sign[0] != "sign" or sign[1] not in _ASSIGNMENTS:
                return self._choice(counts)
            self._at += 2
            value = self._assignment(counts)
            if sign[1] != "=":
                value = self._combined(sign[1][:-1], self._variable(name), value, counts)
            if counts:
                self._put(name, str(value))
            return value
        finally:
            self._depth -= 1

    def _choice(self, counts: bool) -> int:
        condition = self._either(counts)
        if not self._is("?"):
            return condition
        self._take()
        first = self._assignment(counts and condition != 0)
        if not self._is(":"):
            raise self._error("expecting ':'")
        self._take()
        second = self._choice(counts and condition == 0)
        return first if condition else second

    def _either(self, counts: bool) -> int:
        value = self._both(counts)
        while self._is("||"):
            self._take()
            other = self._both(counts and value == 0)
            value = int(value != 0 or other != 0)
        return value

    def _both(self, counts: bool) -> int:
        value = self._binary(0, counts)
        while self._is("&&"):
            self._take()
            other = self._binary(0, counts and value != 0)
            value = int(value != 0 and other != 0)
        return value

    def _binary(self, level: int, counts: bool) -> int:
        if level == len(_LEVELS):
            return self._unary(counts)
        value = self._binary(level + 1, counts)
        while self._is(*_LEVELS[level]):
            sign = self._take()
            value = self._combined(sign, value, self._binary(level + 1, counts), counts)
        return value

    def _unary(self, counts: bool) -> int:
        signs = []
        while self._is("-", "+", "!", "~"):
            signs.append(self._take())
        value = self._primary(counts)
        for sign in reversed(signs):
            value = _wrapped({"-": -value, "+": value, "!": int(not value), "~": ~value}[sign])
        return value

    def _primary(self, counts: bool) -> int:
        kind, text = self._tokens[self._at]
        if kind == "number":
            self._at += 1
            return self._number(text)
        if kind == "name":
            self._at += 1
            return self._variable(text) if counts else 0
        if not self._is("("):
            raise self._error("expecting primary")
        self._take()
        value = self._assignment(counts)
        if not self._is(")"):
            raise self._error("expecting ')'")
        self._take()
        return value

    def _variable(self, name: str) -> int:
        text = self._get(name)
        return self._number(text) if text.strip() else 0

    def _number(self, text: str) -> int:
        match = _NUMBER.fullmatch(text)
        if match is None:
            raise ArithmeticSyntaxError(f"Illegal number: {text}")
        digits = match[2]
        is_octal = digits.startswith("0") and digits.isdigit()
        value = int(digits, 8 if is_octal else 0)
        return max(min(-value if match[1] == "-" else value, _MAX), -_MAX - 1)

    def _combined(self, sign: str, left: int, right: int, counts: bool) -> int:
        if sign in ("/", "%"):
            if not right:
                if counts:
                    raise self._error("division by zero")
                return 0
            quotient = abs(left) // abs(right)
            quotient = -quotient if (left < 0) != (right < 0) else quotient
            return _wrapped(quotient if sign == "/" else left - quotient * right)
        return _wrapped(int(_OPERATORS[sign](left, right)))


_MAX = (1 << 63) - 1

_OPERATORS: dict[str, Callable[[int, int], Any]] = {
    "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "&": lambda a, b: a & b, "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b, "<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63),
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
}  # fmt: skip


def _wrapped(value: int) -> int:
    """A value as 64 bits hold it."""
    return (value + _MAX + 1 & (1 << 64) - 1) - _MAX - 1
