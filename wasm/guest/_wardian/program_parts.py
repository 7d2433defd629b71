"""What the small programs of a machine share: their options, files and errors."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

from _wardian.descriptors import put, rest_of


class Refused(Exception):
    """An option that is not known."""


def said(name: str, text: str) -> int:
    """Writes an error, and returns the usual exit code of one."""
    put(2, f"{name}: {text}\n".encode("utf-8", "surrogateescape"))
    return 1


def wrote(text: str) -> int:
    """Writes a text to the output, and returns the exit code of success."""
    put(1, text.encode("utf-8", "surrogateescape"))
    return 0


def each_option(
    words: Sequence[str], known: str, values: str = "", longs: Mapping[str, str] | None = None
) -> tuple[list[tuple[str, str]], list[str]]:
    """Divides words into options, by their letters, and the rest. Those in `values` have a value.

    `longs` has the letters of options with long names.

    Raises:
        Refused: One of them is not known.
    """
    found: list[tuple[str, str]] = []
    rest: list[str] = []
    pending = list(words)
    while pending:
        word = pending.pop(0)
        if word == "--":
            rest += pending
            break
        if len(word) < 2 or word[0] != "-":
            rest.append(word)
            continue
        if word.startswith("--"):
            name, has_value, value = word[2:].partition("=")
            long = (longs or {}).get(name)
            if long is None or (has_value and long not in values):
                raise Refused(f"unrecognized option '{word}'")
            if long in values and not has_value:
                if not pending:
                    raise Refused(f"option '{word}' requires an argument")
                value = pending.pop(0)
            found.append((long, value))
            continue
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter in values:
                if not letters and not pending:
                    raise Refused(f"option requires an argument -- '{letter}'")
                found.append((letter, letters or pending.pop(0)))
                letters = ""
            elif letter in known:
                found.append((letter, ""))
            else:
                raise Refused(f"invalid option -- '{letter}'")
    return found, rest


def options_of(
    words: Sequence[str], known: str, values: str = "", longs: Mapping[str, str] | None = None
) -> tuple[dict[str, str], list[str]]:
    """As `each_option`, where the last of several counts."""
    found, rest = each_option(words, known, values, longs)
    return dict(found), rest


def reason_of(error: OSError) -> str:
    """Why a call of the system has failed."""
    return error.strerror or str(error)


def contents_of(name: str, files: Sequence[str]) -> tuple[list[tuple[str, bytes]], int]:
    """The files with their contents, and the exit code; the input in the place of no file and of `-`."""
    found, code = [], 0
    for path in files or ["-"]:
        try:
            if path == "-":
                found.append(("", rest_of(0)))
            else:
                with open(path, "rb") as file:
                    found.append((path, file.read()))
        except OSError as error:
            code = said(name, f"{path}: {reason_of(error)}")
    return found, code


def lines_of(content: bytes) -> list[bytes]:
    """The lines of a file, which end with a newline only."""
    return io.BytesIO(content).readlines()
