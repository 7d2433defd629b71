"""Why the program failed, as the frame that reports it.

The report is made after the user's code has run, about an object of the user's making: every
step may raise, so each has a plainer one behind it, and the last one was made with the image.
"""

from __future__ import annotations

import linecache
import re
import traceback
from itertools import pairwise
from traceback import FrameSummary, StackSummary, TracebackException
from typing import Any

from _wardian import places
from _wardian.result import to_json

MESSAGE_MAX = 64 << 10
"""Most bytes of a message; a program can raise an exception with a text of any size."""

TRACEBACK_MAX = 16 << 10
"""Most bytes of a traceback; the middle is left out."""

FRAMES_MAX = 40
"""Most frames of one exception's traceback: the outer half and the inner half."""

_RAISED = b"\x03"

_OUT_OF_MEMORY = _RAISED + (
    b'{"type":"MemoryError","message":"the program needs more memory than it may use",'
    b'"traceback":null}'
)
_UNSPEAKABLE = _RAISED + (
    b'{"type":"RuntimeError","message":"the program failed with an exception that cannot be '
    b'described","traceback":null}'
)

_class_name = type.__dict__["__name__"].__get__  # a hostile metaclass has no say
_clear_frames = traceback.clear_frames


class EntrypointNotFound(AttributeError):
    """The program does not define the function that was to be called."""


EntrypointNotFound.__module__ = "runtime"


def raised(exception: BaseException) -> bytes:
    """Returns the frame that reports `exception`; never raises itself."""
    try:
        if isinstance(exception, MemoryError):
            _clear_frames(exception.__traceback__)  # what filled the memory hangs on the frames
        return _frame(_class_name(type(exception)), _message(exception), _traceback(exception))
    except MemoryError:
        return _OUT_OF_MEMORY
    except BaseException:
        pass
    try:
        return _frame(_class_name(type(exception)), _message(exception), None)
    except BaseException:
        return _OUT_OF_MEMORY if isinstance(exception, MemoryError) else _UNSPEAKABLE


def _frame(name: str, message: str, frames: str | None) -> bytes:
    report = {"type": name, "message": _cut(message, MESSAGE_MAX), "traceback": frames}
    return _RAISED + to_json(report, "failure")


def _message(exception: BaseException) -> str:
    try:
        return str.__str__(_own_words(exception))
    except MemoryError:
        raise
    except BaseException:
        return "(the exception has no text: its __str__ failed)"


def _own_words(exception: BaseException) -> str:
    if isinstance(exception, SystemExit):
        code = exception.code
        if code is None or type(code) is int:
            shown = "" if code is None else code
            return f"the program called sys.exit({shown}) instead of returning a value"
        return str(code)
    if isinstance(exception, MemoryError) and not exception.args:
        return "the program needs more memory than it may use"
    return str(exception)


def _traceback(exception: BaseException) -> str | None:
    """The traceback as Python prints it, without frames that are not the user's concern."""
    report = TracebackException(type(exception), exception, exception.__traceback__, compact=True)
    _keep_user_frames(report, set())
    if report.stack is None and not isinstance(exception, SyntaxError):
        return None
    return _cut_middle(_without_advice("".join(report.format())).rstrip("\n"), TRACEBACK_MAX)


def _without_advice(text: str) -> str:
    """Python advises to look after `site-packages`, which a sandbox does not have."""
    return _site_advice("", text)


_site_advice = re.compile(r"\. Site initialization is disabled[^\n]*").sub


def _keep_user_frames(report: Any, seen: set[int]) -> None:
    if report is None or id(report) in seen:
        return
    seen.add(id(report))
    stack = _UserStack(_user_frames(report.stack or ()))
    report.stack = stack or None
    _keep_user_frames(report.__cause__, seen)
    _keep_user_frames(report.__context__, seen)
    for inner in report.exceptions or ():
        _keep_user_frames(inner, seen)


_HIDDEN = (places.OWN_CODE, "<frozen importlib", "<reactor>")


def _user_frames(frames: StackSummary | tuple[()]) -> list[FrameSummary]:
    """Leaves out the image's own frames, and what of the library lies above the user's."""
    shown = [frame for frame in frames if not frame.filename.startswith(_HIDDEN)]
    for index, frame in enumerate(shown):
        if not frame.filename.startswith((places.LIBRARY, "<frozen")):
            return shown[index:]
    return shown


class _UserStack(StackSummary):
    """Frames that print at most `FRAMES_MAX` of themselves."""

    def format(self, **options: Any) -> list[str]:
        if len(self) <= FRAMES_MAX or _repeats(self):
            return super().format(**options)
        half = FRAMES_MAX // 2
        first, last = StackSummary(self[:half]), StackSummary(self[-half:])
        left_out = f"  [{len(self) - FRAMES_MAX} frames left out]\n"
        return [*first.format(**options), left_out, *last.format(**options)]


def _repeats(frames: list[FrameSummary]) -> bool:
    """True if most frames are one line calling itself, which Python prints in one line."""
    changes = sum(
        (one.filename, one.lineno, one.name) != (two.filename, two.lineno, two.name)
        for one, two in pairwise(frames)
    )
    return changes <= FRAMES_MAX // 2


def remember_source(file_name: str, source: str) -> None:
    """Lets tracebacks show the lines of a program that is no file."""
    _lines_of[file_name] = (lambda: source,)


_lines_of: dict[str, Any] = linecache.cache


def _cut(text: str, limit: int) -> str:
    """Returns at most `limit` bytes of `text`."""
    encoded = text[: limit + 1].encode("utf-8", "replace")
    if len(encoded) <= limit:
        return text
    return encoded[: limit - 3].decode("utf-8", "ignore") + "…"


def _cut_middle(text: str, limit: int) -> str:
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit:
        return text
    marker = "\n  [...]\n"
    end = (limit - len(marker)) * 3 // 4
    start = limit - len(marker) - end
    head = encoded[:start].decode("utf-8", "ignore")
    return f"{head}{marker}{encoded[-end:].decode('utf-8', 'ignore')}"
