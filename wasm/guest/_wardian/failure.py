"""Reports the failure of a program to the host.

The report is made after the user's code has run, and describes an exception of the user's code.
Every step may raise, so each has a simpler fallback. The last fallback is a constant.
"""

from __future__ import annotations

import sys
import traceback

from _wardian import advice, remarks, sizes, trace
from _wardian.result import to_json

MESSAGE_MAX = 64 << 10
"""Most bytes of a message; a program can raise an exception with a text of any size."""

_RAISED = b"\x03"

_OUT_OF_MEMORY = _RAISED + (
    b'{"type":"MemoryError","message":"the program needs more memory than it may use",'
    b'"traceback":null}'
)
_UNSPEAKABLE = _RAISED + (
    b'{"type":"RuntimeError","message":"the program failed with an exception that cannot be '
    b'described","traceback":null}'
)

_reserve = [bytearray(1 << 20)]
"""Room to describe the end of a program that has filled the memory."""

_class_name = type.__dict__["__name__"].__get__  # not affected by a hostile metaclass
_add_note = BaseException.add_note
_clear_frames = traceback.clear_frames


def refill() -> None:
    """Makes the room again that the description of a `MemoryError` has taken."""
    if not _reserve:
        _reserve.append(bytearray(1 << 20))


class EntrypointNotFound(AttributeError):
    """The program does not define the function that was to be called."""


EntrypointNotFound.__module__ = "runtime"


def raised(exception: BaseException) -> bytes:
    """Returns the frame that reports `exception`; never raises itself."""
    try:
        if isinstance(exception, MemoryError):
            _reserve.clear()
            _clear_frames(exception.__traceback__)  # the frames hold the objects that fill memory
            remark = None
        else:
            remark = explain(exception)
        message = _message(exception)
        if remark is not None:
            message = f"{message} ({remark})"
        return _frame(_class_name(type(exception)), message, trace.text_of(exception))
    except MemoryError:
        return _OUT_OF_MEMORY
    except BaseException:
        pass
    try:
        return _frame(_class_name(type(exception)), _message(exception), None)
    except BaseException:
        return _OUT_OF_MEMORY if isinstance(exception, MemoryError) else _UNSPEAKABLE


def explain(exception: BaseException) -> str | None:
    """Adds advice to the error. Returns a remark that belongs behind its message. Raises nothing but
    `MemoryError`."""
    try:
        advice.explain(exception)
        remark = remarks.of(exception)
        if remark is not None:
            _add_note(exception, f"[{remark}]")
        return remark
    except MemoryError:
        raise
    except BaseException:
        return None


def _frame(name: str, message: str, frames: str | None) -> bytes:
    report = {"type": name, "message": _cut(message, MESSAGE_MAX), "traceback": frames}
    return _RAISED + to_json(report, "failure")


def _message(exception: BaseException) -> str:
    try:
        return sizes.explained(type(exception), str.__str__(_own_words(exception)))
    except MemoryError:
        raise
    except BaseException:
        return "(the exception has no text: its __str__ failed)"


def _own_words(exception: BaseException) -> str:
    if isinstance(exception, SystemExit):
        code = exception.code
        if code is None or type(code) is int:
            shown = "" if code is None else code
            words = f"the program called sys.exit({shown}) instead of returning a value"
            if code == 2 and "argparse" in sys.modules:
                words += "; there is no command line here: read the values from `args`"
            return words
        return str(code)
    if isinstance(exception, MemoryError) and not exception.args:
        return "the program needs more memory than it may use"
    return str(exception)


def _cut(text: str, limit: int) -> str:
    """Returns at most `limit` bytes of `text`."""
    encoded = text[: limit + 1].encode("utf-8", "replace")
    if len(encoded) <= limit:
        return text
    return encoded[: limit - 3].decode("utf-8", "ignore") + "…"
