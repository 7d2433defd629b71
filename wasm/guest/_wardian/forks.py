"""What a program sees when its state is continued a second time: that it is the child of a fork.

Two copies of one state that go on by themselves must not draw the same random numbers. Python has a
protocol for this, which libraries know: the number of the process becomes another one, and the
functions run that were registered with `os.register_at_fork` for the child.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from typing import Any

from _wardian import platform, processes

_modules = sys.modules
_Handler = Callable[[], object]
_handlers: list[_Handler] = []


def register_at_fork(
    *,
    before: _Handler | None = None,
    after_in_child: _Handler | None = None,
    after_in_parent: _Handler | None = None,
) -> None:
    """Replaces `os.register_at_fork`. A parent notices nothing, so its functions are not kept."""
    given = [one for one in (before, after_in_child, after_in_parent) if one is not None]
    if not given:
        raise TypeError("At least one argument is required.")
    for name, one in (
        ("before", before),
        ("after_in_child", after_in_child),
        ("after_in_parent", after_in_parent),
    ):
        if one is not None and not callable(one):
            raise TypeError(f"'{name}' must be callable, not {type(one).__name__}")
    if after_in_child is not None:
        _handlers.append(after_in_child)


def install() -> None:
    """Replaces the function of `os`, which a library finds wherever there is `os.fork`."""
    os.register_at_fork = register_at_fork  # type: ignore[assignment]


def become_child(seed: int) -> None:
    """Lets the program find itself in the child of a fork, with generators that begin at `seed`.

    Generators that the program holds itself are not touched: as in a fork, it says with a handler
    what becomes of them. A handler that raises is reported, and the others run all the same.
    """
    platform.change_process(seed)
    processes.note_process()
    for handler in list(_handlers):
        try:
            handler()
        except Exception as error:
            _report(handler, error)
    temporary: Any = _modules.get("tempfile")
    if temporary is not None:
        temporary._name_sequence = None
    generator: Any = random._inst
    random.Random.seed(generator, seed)
    numpy_random: Any = _modules.get("numpy.random.mtrand")
    if numpy_random is not None:
        numpy_random._rand.seed(seed >> 32 & 0xFFFFFFFF)


def _report(handler: _Handler, error: Exception) -> None:
    try:
        print(f"a function of os.register_at_fork failed: {handler!r}: {error!r}", file=sys.stderr)
    except Exception:
        pass


def forget() -> None:
    """Forgets the handlers of a program; for tests."""
    _handlers.clear()
