"""The traceback of a failed program as text, with a bounded number of its own frames.

Python's `traceback` formats the text. Every trace is cut before, because each frame costs a tenth
of a millisecond, and a program can raise at a depth of a million frames, or with a chain of as many
exceptions.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from operator import is_
from traceback import StackSummary, TracebackException
from types import TracebackType
from typing import Any

from _wardian import places

TEXT_MAX = 16 << 10
"""Most bytes of a traceback's text; the middle is left out."""

FRAMES_MAX = 40
"""Most frames that are shown of one exception: the outer half and the inner half."""

CHAIN_MAX = 16
"""Most exceptions that are shown: causes, contexts and members of groups."""

GROUP_MAX = 8
"""Most members that are shown of one group."""

_HIDDEN = (places.OWN_CODE, "<frozen importlib", "<reactor>")
_LIBRARY = (places.LIBRARY, "<frozen")

_lines_of: dict[str, Any] = linecache.cache
_never_freed: list[object] = []
"""Keeps cut parts alive: freeing a chain of a million frames or causes would overflow the stack."""
_without_site_advice = re.compile(r"\. Site initialization is disabled[^\n]*").sub


def remember_source(file_name: str, source: str) -> None:
    """Lets tracebacks show the lines of a program that is not a file."""
    _lines_of[file_name] = (lambda: source,)


def text_of(exception: BaseException) -> str | None:
    """Returns the text that Python would print, or None if there is only the message.

    May raise anything: the exception is the program's, and its class may be hostile.
    """
    left_out: dict[int, int] = {}
    exception = _small_group(exception)
    for error in _cut_chain(exception):
        _cut_trace(error, left_out)
    report = TracebackException(
        type(exception),
        exception,
        exception.__traceback__,
        compact=True,
        max_group_width=GROUP_MAX,
    )
    _mark_cuts(report, exception, left_out)
    if report.stack is None and not isinstance(exception, SyntaxError):
        return None
    text = "".join(report.format()).rstrip("\n")
    return _cut_middle(_without_site_advice("", text), TEXT_MAX)


def _small_group(exception: BaseException, room: int = CHAIN_MAX) -> BaseException:
    """Bounds the number of exceptions in a group, because `traceback` visits all of them.

    `room` is the number of exceptions that may be shown below this one. A group without room for
    its members becomes a plain exception with a note.
    """
    if not isinstance(exception, BaseExceptionGroup):
        return exception
    # One more member than is shown, so that Python adds "and 1 more".
    members, shown = exception.exceptions[: GROUP_MAX + 1], []
    for member in members:
        below = room - len(members)
        if isinstance(member, BaseExceptionGroup) and below <= 0:
            shown.append(Exception(f"{member.message} [members left out]"))
            continue
        shown.append(_small_group(member, below))
        room -= _size(shown[-1]) - 1
    if len(shown) == len(exception.exceptions) and all(map(is_, shown, members)):
        return exception
    smaller = BaseExceptionGroup(exception.message, shown)
    smaller.__cause__, smaller.__context__ = exception.__cause__, exception.__context__
    smaller.__notes__ = getattr(exception, "__notes__", [])
    return smaller.with_traceback(exception.__traceback__)


def _size(exception: BaseException) -> int:
    """The number of exceptions in a bounded group, including the group itself."""
    members = exception.exceptions if isinstance(exception, BaseExceptionGroup) else ()
    return 1 + sum(map(_size, members))


def _cut_chain(exception: BaseException) -> list[BaseException]:
    """Lists the exceptions that will be shown, and cuts the chain behind them."""
    shown, known = [exception], {id(exception)}
    for error in shown:
        for name in ("__cause__", "__context__"):
            other = getattr(error, name)
            if other is None or id(other) in known:
                continue
            if len(shown) < CHAIN_MAX:
                known.add(id(other))
                shown.append(other)
            else:
                _never_freed.append(other)
                setattr(error, name, None)
        for member in getattr(error, "exceptions", ()):
            if isinstance(member, BaseException) and len(shown) < CHAIN_MAX:
                known.add(id(member))
                shown.append(member)
    return shown


def _cut_trace(error: BaseException, left_out: dict[int, int]) -> None:
    """Reduces the trace to the shown frames, and notes the number of frames left out."""
    nodes = _user_nodes(error.__traceback__)
    if len(nodes) > FRAMES_MAX:
        _never_freed.append(error.__traceback__)
        half = FRAMES_MAX // 2
        left_out[id(error)] = len(nodes) - 2 * half
        nodes = nodes[:half] + nodes[-half:]
    trace = None
    for node in reversed(nodes):
        trace = TracebackType(trace, node.tb_frame, node.tb_lasti, node.tb_lineno)
    error.__traceback__ = trace


def _user_nodes(trace: TracebackType | None) -> list[TracebackType]:
    """The nodes without the image's own frames and without leading frames of the library."""
    nodes = [node for node in _nodes(trace) if not _file_name(node).startswith(_HIDDEN)]
    for index, node in enumerate(nodes):
        if not _file_name(node).startswith(_LIBRARY):
            return nodes[index:]
    return nodes


def _nodes(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _file_name(node: TracebackType) -> str:
    return node.tb_frame.f_code.co_filename


def _mark_cuts(report: Any, error: BaseException, left_out: dict[int, int]) -> None:
    """Marks the cuts in a report. Walks the report and its exceptions in parallel."""
    pending: list[tuple[Any, Any]] = [(report, error)]
    known = set()
    while pending:
        report, error = pending.pop()
        if report is None or id(report) in known:
            continue
        known.add(id(report))
        if not report.stack:
            report.stack = None
        elif id(error) in left_out:
            report.stack = _CutStack(report.stack)
            report.stack.left_out = left_out[id(error)]
        pending.append((report.__cause__, error.__cause__))
        pending.append((report.__context__, error.__context__))
        if report.exceptions:
            pending.extend(zip(report.exceptions, getattr(error, "exceptions", ()), strict=False))


class _CutStack(StackSummary):
    """A stack whose middle frames are left out."""

    left_out = 0

    def format(self, **options: Any) -> list[str]:
        half = len(self) // 2
        outer, inner = StackSummary(self[:half]), StackSummary(self[half:])
        mark = f"  [{self.left_out} frames left out]\n"
        return [*outer.format(**options), mark, *inner.format(**options)]


def _cut_middle(text: str, limit: int) -> str:
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit:
        return text
    marker = "\n  [...]\n"
    end = (limit - len(marker)) * 3 // 4
    start = limit - len(marker) - end
    head = encoded[:start].decode("utf-8", "ignore")
    return f"{head}{marker}{encoded[-end:].decode('utf-8', 'ignore')}"
