"""The traceback of a failed program as text, with a bounded number of its own frames.

Frames of the library and of packages are folded: a line says how many there are, and where the last
one is. Of a chain of exceptions that packages raise one from the other, the first one is shown, and
the others are named. What a program itself prints, with `traceback.print_exc`, is as natively, with
advice about missing modules.

Python's `traceback` formats the text. Every trace is cut before, because each frame costs a tenth
of a millisecond, and a program can raise at a depth of a million frames, or with a chain of as many
exceptions.
"""

from __future__ import annotations

import asyncio
import linecache
from collections.abc import Iterator
from operator import is_
from traceback import StackSummary, TracebackException
from types import CoroutineType, GeneratorType, TracebackType
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

WAITING_MAX = 1_000
"""Most frames of coroutines that wait for one another."""

_HIDDEN = (places.OWN_CODE, "<frozen importlib", "<reactor>")
_LIBRARY = (places.LIBRARY, places.BATTERIES + "/", places.LAYERS + "/", "<frozen")
_COMPILED = (".pyx", ".pxd", ".pxi")
"""Endings of files that packages were compiled from; their names in traces are relative."""

_NAMES_MAX = 3
"""Most packages that are named in one line."""

_lines_of: dict[str, Any] = linecache.cache
_never_freed: list[object] = []
"""Keeps cut parts alive: freeing a chain of a million frames or causes would overflow the stack."""


def remember_source(file_name: str, source: str) -> None:
    """Lets tracebacks show the lines of a program that is not a file, and `inspect` those of its classes."""
    # A function has the name of its code; a class has that of its module, which is a path.
    for name in (file_name, f"{places.WORKSPACE}/{file_name}"):
        _lines_of[name] = (lambda: source,)


def release() -> None:
    """Frees the traces that were cut, for a program that goes on. Chains of exceptions stay."""
    traces = [part for part in _never_freed if type(part) is TracebackType]
    _never_freed[:] = [part for part in _never_freed if type(part) is not TracebackType]
    while traces:
        nodes = list(_nodes(traces.pop()))
        for node in nodes:
            node.tb_next = None
        frames = [node.tb_frame for node in nodes]
        del nodes[:]
        _free(frames)


def release_exception(exceptions: list[BaseException]) -> None:
    """Takes an exception out of its list; if it was the last use of its frames, they are freed."""
    frames = []
    for node in _nodes(exceptions[-1].__traceback__):
        frames = [node.tb_frame]
    while frames and frames[-1].f_back is not None:
        frames.append(frames[-1].f_back)
    exceptions.pop()
    frames.reverse()
    _free(frames)


def _free(frames: list[Any]) -> None:
    """Drops frames of a stack one by one, the inner ones first: each refers to its caller."""
    while frames:
        frames.pop()


def show_wait(exception: BaseException, task: Any) -> None:
    """Shows where a task waits in the trace of an exception that came up meanwhile, in no code of the program.

    The trace has the frames of the coroutines that await one another, also in tasks that the task awaits.
    """
    if _folded(exception.__traceback__)[0]:
        return
    trace = None
    for frame in reversed(_waiting_frames(task)):
        trace = TracebackType(trace, frame, frame.f_lasti, frame.f_lineno)
    if trace is not None:
        exception.__traceback__ = trace


def _waiting_frames(task: Any) -> list[Any]:
    frames: dict[int, Any] = {}
    known: set[int] = set()
    while isinstance(task, asyncio.Future) and id(task) not in known:
        known.add(id(task))
        if isinstance(task, asyncio.Task):
            for frame in _awaiting_frames(task.get_coro()):
                if len(frames) == WAITING_MAX:
                    return list(frames.values())
                frames[id(frame)] = frame
            task = getattr(task, "_fut_waiter", None)
        else:  # `asyncio.gather` awaits several
            children = getattr(task, "_children", ())
            task = next((child for child in children if not child.done()), None)
    return list(frames.values())


def _awaiting_frames(awaited: Any) -> Iterator[Any]:
    """The frames of coroutines of which each awaits the next."""
    while awaited is not None:
        if type(awaited) is CoroutineType:
            frame, awaited = awaited.cr_frame, awaited.cr_await
        elif type(awaited) is GeneratorType:
            frame, awaited = awaited.gi_frame, awaited.gi_yieldfrom
        else:
            return
        if frame is None:
            return
        yield frame


def text_of(exception: BaseException) -> str | None:
    """Returns the text that Python would print, or None if there is only the message.

    May raise anything: the exception is the program's, and its class may be hostile.
    """
    marks: dict[int, _Marks] = {}
    exception = _small_group(exception)
    for error in _cut_chain(exception):
        _cut_trace(error, marks)
    report = TracebackException(
        type(exception),
        exception,
        exception.__traceback__,
        compact=True,
        max_group_width=GROUP_MAX,
    )
    _mark_cuts(report, exception, marks)
    if report.stack is None and not isinstance(exception, SyntaxError):
        return None
    text = "".join(report.format()).rstrip("\n")
    return _cut_middle(text, TEXT_MAX)


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


_Marks = dict[int, list[str]]
"""Lines in the place of frames that are not shown, by the number of frames shown before them."""


def _cut_trace(error: BaseException, marks: dict[int, _Marks]) -> None:
    """Reduces the trace to the frames of the program, and notes what stands for the others."""
    nodes, lines = _folded(error.__traceback__)
    if len(nodes) > FRAMES_MAX:
        _never_freed.append(error.__traceback__)
        half = FRAMES_MAX // 2
        surplus = len(nodes) - 2 * half
        nodes = nodes[:half] + nodes[-half:]
        shown = {at: found for at, found in lines.items() if at <= half}
        shown.setdefault(half, []).append(f"  [{surplus} frames left out]\n")
        shown |= {at - surplus: found for at, found in lines.items() if at > half + surplus}
        lines = shown
    trace = None
    for node in reversed(nodes):
        trace = TracebackType(trace, node.tb_frame, node.tb_lasti, node.tb_lineno)
    error.__traceback__ = trace
    marks[id(error)] = lines


def _folded(trace: TracebackType | None) -> tuple[list[TracebackType], _Marks]:
    """The nodes of the program, and a line for each run of nodes of the library.

    The image's own frames are left out, and so are leading frames of the library: they have called
    the program.
    """
    shown: list[TracebackType] = []
    lines: _Marks = {}
    run: list[TracebackType] = []
    for node in _nodes(trace):
        name = _file_name(node)
        if name.startswith(_HIDDEN):
            continue
        if name.startswith(_LIBRARY) or name.endswith(_COMPILED) and name[:1] != "/":
            run.append(node)
            continue
        if run and shown:
            lines[len(shown)] = [_fold(run)]
        run = []
        shown.append(node)
    if run:
        lines[len(shown)] = [_fold(run)]
    return shown, lines


def _fold(run: list[TracebackType]) -> str:
    """The line for nodes of the library."""
    names: dict[str, None] = {}
    for node in run:
        names.setdefault(_place(node).partition("/")[0].removesuffix(".py"))
    listed = list(names)
    if len(listed) > _NAMES_MAX:
        packages = f"{', '.join(listed[:_NAMES_MAX])} and others"
    else:
        packages = " and ".join(", ".join(listed).rsplit(", ", 1))
    last = run[-1]
    place = f"{_place(last)}, line {last.tb_lineno}, in {last.tb_frame.f_code.co_name}"
    if len(run) == 1:
        return f"  [1 frame of {packages}: {place}]\n"
    return f"  [{len(run)} frames of {packages}, the last in {place}]\n"


def _place(node: TracebackType) -> str:
    """The file of a node below the folder of its package."""
    name = _file_name(node)
    if name.startswith(places.LAYERS + "/"):
        return name[len(places.LAYERS) + 1 :].partition("/")[2]
    for folder in (places.BATTERIES, f"{places.LIBRARY}/site-packages", places.LIBRARY):
        if name.startswith(folder + "/"):
            return name[len(folder) + 1 :]
    if name.startswith("<frozen"):
        return name.removeprefix("<frozen ").removesuffix(">") + ".py"
    return name.removeprefix("src/")


def _nodes(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _file_name(node: TracebackType) -> str:
    return node.tb_frame.f_code.co_filename


def _mark_cuts(report: Any, error: BaseException, marks: dict[int, _Marks]) -> None:
    """Marks the cuts in a report. Walks the report and its exceptions in parallel."""
    pending: list[tuple[Any, Any]] = [(report, error)]
    known = set()
    while pending:
        report, error = pending.pop()
        if report is None or id(report) in known:
            continue
        known.add(id(report))
        lines = marks.get(id(error))
        if lines:
            report.stack = _CutStack(report.stack or ())
            report.stack.lines = lines
        elif not report.stack:
            report.stack = None
        for name in ("__cause__", "__context__"):
            pending.append(_shorter_chain(report, error, name, marks))
        if report.exceptions:
            pending.extend(zip(report.exceptions, getattr(error, "exceptions", ()), strict=False))


def _shorter_chain(
    report: Any, error: BaseException, name: str, marks: dict[int, _Marks]
) -> tuple[Any, Any]:
    """Skips all exceptions but the first of those that packages raised one from the other.

    One that only repeats another is skipped altogether.
    """
    chain = []
    below, cause = getattr(report, name), getattr(error, name)
    while below is not None and len(chain) < CHAIN_MAX and _is_folded(cause, marks):
        chain.append((below, cause))
        step = "__cause__" if below.__cause__ is not None else "__context__"
        below, cause = getattr(below, step), getattr(cause, step)
    if len(chain) == 1 and _says_the_same(chain[0][0], report):
        setattr(report, name, None)
        return None, None
    if len(chain) < 2:
        return getattr(report, name), getattr(error, name)
    first, cause = chain.pop()
    names = [type(skipped).__name__ for _, skipped in reversed(chain)]
    notes = list(getattr(first, "__notes__", None) or ())
    first.__notes__ = [*notes, f"[which led to {', '.join(names)}]"]
    setattr(report, name, first)
    return first, cause


def _says_the_same(first: Any, second: Any) -> bool:
    """True if a package has raised the same error again, as pandas does."""
    return list(first.format_exception_only()) == list(second.format_exception_only())


def _is_folded(error: Any, marks: dict[int, _Marks]) -> bool:
    """True for an exception whose frames are all of packages, and that has no members."""
    is_single = not isinstance(error, BaseExceptionGroup)
    return is_single and error.__traceback__ is None and bool(marks.get(id(error)))


class _CutStack(StackSummary):
    """A stack with lines in the place of some of its frames."""

    lines: _Marks = {}

    def __bool__(self) -> bool:
        """True also without frames: there are lines to show."""
        return True

    def format(self, **options: Any) -> list[str]:
        shown: list[str] = []
        start = 0
        for at in sorted(self.lines):
            shown += StackSummary(self[start:at]).format(**options)
            shown += self.lines[at]
            start = at
        return shown + StackSummary(self[start:]).format(**options)


def _cut_middle(text: str, limit: int) -> str:
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit:
        return text
    marker = "\n  [...]\n"
    end = (limit - len(marker)) * 3 // 4
    start = limit - len(marker) - end
    head = encoded[:start].decode("utf-8", "ignore")
    return f"{head}{marker}{encoded[-end:].decode('utf-8', 'ignore')}"
