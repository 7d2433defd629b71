"""The tools of the caller, in cells of a session: `rows = await tools.query(table="sales")`.

The call that runs the cell declares them. A cell that awaits some of them waits, and so does its
session, until the caller has answered. `asyncio.gather` asks for several at once.

- `tools.NAME(**arguments)`: the output of a tool, which is JSON data. `tools.NAME.now(**arguments)` is
  for functions that cannot `await`.
- `tools.input(prompt)`: a line of text; `tools.getpass(prompt)`: one that is not shown.
- `tools.ToolError`: raised where a tool has failed.
"""

from __future__ import annotations

from typing import Any

from _wardian import asking
from _wardian.asking import ToolError

__all__ = ["ToolError", "getpass", "input"]


async def input(prompt: object = "") -> str:
    """Asks the caller for a line of text."""
    return await asking.ask_input(prompt)


async def getpass(prompt: object = "Password: ") -> str:
    """Asks the caller for a line of text that is not shown while it is typed."""
    return await asking.ask_input(prompt, hidden=True)


def __getattr__(name: str) -> Any:
    """Finds a tool of the present cell."""
    tool = asking.tools.get(name)
    if tool is not None:
        return tool
    names = ", ".join(asking.tools)
    raise AttributeError(
        f"there is no tool {name!r}; "
        + (f"the call has declared {names}" if names else "the call has declared none")
    )


def __dir__() -> list[str]:
    """The tools, and what all cells have."""
    return sorted({*asking.tools, *__all__})
