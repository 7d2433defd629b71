"""Reads the text of a cell: whether it is complete, and which name is at the cursor."""

from __future__ import annotations

import ast
import codeop
import re
import warnings
from typing import Literal, NamedTuple

Status = Literal["complete", "incomplete", "invalid"]

INDENT = "    "

_HELP = re.compile(r"\s*(?:\?{1,2}\s*([^\W\d][\w.]*)|([^\W\d][\w.]*)\s*\?{1,2})\s*")
_WORD = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*\.?")
_CALL = re.compile(r"([^\W\d][\w.]*)\s*\(")
_MAGIC = re.compile(r"^([ \t]*)[%!].*$", re.MULTILINE)


class Name(NamedTuple):
    """A name that is being typed: `owner` is what precedes its last dot."""

    owner: str
    prefix: str


def completeness(code: str) -> tuple[Status, str]:
    """Whether a prompt should execute a text or ask for another line, and the indent of that line.

    It is judged by the grammar of the Python that runs the kernel. The one in the session may be
    newer, so `invalid` is a guess for syntax that only a newer Python has.
    """
    lines = code.split("\n")
    if lines[0].startswith("%%"):
        return ("complete", "") if not lines[-1].strip() else ("incomplete", "")
    compiler = codeop.CommandCompiler()
    compiler.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        with warnings.catch_warnings():
            # Those of the cell are reported when it runs.
            warnings.simplefilter("ignore")
            compiled = compiler(_MAGIC.sub(r"\1pass", code), symbol="exec")
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError):
        return "invalid", ""
    # A block goes on until there is an empty line.
    if compiled is None or lines[-1].startswith((" ", "\t")) and lines[-1].strip():
        return "incomplete", _next_indent(lines)
    return "complete", ""


def _next_indent(lines: list[str]) -> str:
    last = next((line for line in reversed(lines) if line.strip()), "")
    indent = last[: len(last) - len(last.lstrip())]
    return indent + INDENT if last.rstrip().endswith(":") else indent


def typed_name(code: str, cursor: int) -> Name | None:
    """The name that ends at the cursor, if it is one of a variable or of an attribute of one."""
    found = re.search(r"[\w.]+$", code[:cursor])
    if found is None or not _WORD.fullmatch(found[0]):
        return None
    owner, _, prefix = found[0].rpartition(".")
    # The attribute of something else, such as a call.
    return None if code[: found.start()].rstrip().endswith(".") else Name(owner, prefix)


def name_at(code: str, cursor: int) -> str | None:
    """The dotted name at the cursor, or that of the function whose call the cursor is in."""
    for found in _WORD.finditer(code):
        if found.start() <= cursor <= found.end() and not _follows_value(code, found.start()):
            return found[0].rstrip(".")
    calls = [
        found for found in _CALL.finditer(code[:cursor]) if not _follows_value(code, found.start())
    ]
    for found in reversed(calls):
        rest = code[found.end() : cursor]
        if rest.count("(") >= rest.count(")"):
            return found[1].rstrip(".")
    return None


def _follows_value(code: str, place: int) -> bool:
    """Whether a name is the attribute of a call or of an item, or part of a number."""
    return place > 0 and (code[place - 1] in ".'\"" or code[place - 1].isalnum())


def asked_name(code: str) -> str | None:
    """The name in a cell like `name?`, which asks for its documentation."""
    found = _HELP.fullmatch(code)
    return None if found is None else (found[1] or found[2]).rstrip(".")
