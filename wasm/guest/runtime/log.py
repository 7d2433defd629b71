"""Messages for the run's log.

    log.info("read %d rows", len(rows))
    log.warning("skipped a row", row=17, reason="no date")

A message may hold `%` placeholders for the arguments after it, as in `logging`; named fields are
appended as `name=value`. Logging never fails: what cannot be sent goes to stderr.
"""

from __future__ import annotations

import sys
from typing import Any

from _wardian import door

__all__ = ["debug", "error", "info", "warning"]

_LEVELS = ("debug", "info", "warning", "error")
_stdout, _stderr = sys.stdout, sys.stderr


def debug(message: object, /, *args: Any, **fields: Any) -> None:
    """Logs what helps to find a fault."""
    _log(0, message, args, fields)


def info(message: object, /, *args: Any, **fields: Any) -> None:
    """Logs what the program does."""
    _log(1, message, args, fields)


def warning(message: object, /, *args: Any, **fields: Any) -> None:
    """Logs what is odd but no failure."""
    _log(2, message, args, fields)


def error(message: object, /, *args: Any, **fields: Any) -> None:
    """Logs what went wrong."""
    _log(3, message, args, fields)


def _log(level: int, message: object, args: tuple[Any, ...], fields: dict[str, Any]) -> None:
    try:
        text = _text(message, args, fields)
    except Exception as problem:
        text = f"(this message cannot be printed: {type(problem).__name__})"
    try:
        _stdout.flush()  # what was printed before comes before
    except (OSError, ValueError):
        pass
    try:
        door.ask(b"%b%c%b" % (door.LOG, level, text.encode("utf-8", "replace")))
    except Exception:
        _fall_back(level, text)


def _text(message: object, args: tuple[Any, ...], fields: dict[str, Any]) -> str:
    text = str(message)
    if args:
        named = len(args) == 1 and isinstance(args[0], dict) and args[0]
        try:
            text %= named or args
        except (TypeError, ValueError, KeyError):
            text = f"{text} {args!r}"
    for name, value in fields.items():
        shown = value if type(value) is str and value and " " not in value else repr(value)
        text += f" {name}={shown}"
    return text


def _fall_back(level: int, text: str) -> None:
    try:
        _stderr.write(f"{_LEVELS[level]}: {text}\n")
    except (OSError, ValueError):
        pass


def __dir__() -> list[str]:
    """The public names alone: what is not among them is no help to callers."""
    return sorted(__all__)
