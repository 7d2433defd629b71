"""The tools of the caller: `from tools import crm`, then `rows = await crm.search(query="x")`.

The call that runs the program declares them. A program that awaits some of them waits until the caller has
answered. `asyncio.gather` asks for several at once. `help(crm.search)` shows the arguments of a tool.

- `tools.NAME(...)`: the output of a tool, which is JSON data. `tools.NAME.sync(...)` is for functions
  that cannot `await`. A tool called `crm.search` is `tools.crm.search`.
- `tools.call(name, arguments)`: the same, for names that are no names in Python. It has `sync`, too.
- `tools.list()` and `tools.search("invoice")`: which tools there are.
- `tools.input(prompt)`: a line of text; `tools.getpass(prompt)`: one that is not shown.
- `tools.ToolError`: raised where a tool has failed; it has `tool` and `message`.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

from _wardian import asking, called_tools
from _wardian.asking import ToolError

__all__ = ["ToolError", "call", "getpass", "input", "list", "search"]


async def call(name: str, arguments: Mapping[str, Any] | None = None, /) -> Any:
    """Calls a tool by its name, with arguments by their names.

    Raises:
        ToolError: The tool has failed, its arguments do not fit, or there is none of this name.
    """
    return await asking.ask_tool(called_tools.find(name).name, dict(arguments or {}))


def _call_now(name: str, arguments: Mapping[str, Any] | None = None, /) -> Any:
    """Calls a tool by its name from a function that cannot `await`."""
    return asking.ask_tool_now(called_tools.find(name).name, dict(arguments or {}))


call.sync = _call_now  # type: ignore[attr-defined]


def list(prefix: str = "") -> builtins.list[dict[str, str]]:
    """The tools whose names begin with `prefix`: name, call and description of each."""
    return called_tools.listed(prefix)


def search(query: str, limit: int = 10) -> builtins.list[dict[str, str]]:
    """The tools whose names, arguments and descriptions have words of the query, the best first."""
    return called_tools.searched(query, limit)


async def input(prompt: object = "") -> str:
    """Asks the caller for a line of text."""
    return await asking.ask_input(prompt)


async def getpass(prompt: object = "Password: ") -> str:
    """Asks the caller for a line of text that is not shown while it is typed."""
    return await asking.ask_input(prompt, hidden=True)


def __getattr__(name: str) -> Any:
    """Finds a tool, or a namespace of tools."""
    return getattr(called_tools.root, name)


def __dir__() -> builtins.list[str]:
    """The tools, and what every program has."""
    return sorted({*called_tools.root._entries, *__all__})


for _name in __all__:
    setattr(called_tools.root, _name, globals()[_name])
called_tools.root.__doc__ = __doc__
