"""The tools of the caller: `from tools import crm`, then `rows = await crm.search(query="x")`.

The call that runs the program declares them. A program that awaits some of them waits until the caller has
answered. `asyncio.gather` asks for several at once. `help(crm.search)` shows the arguments of a tool.

- `tools.NAME(...)`: the output of a tool, which is JSON data. `tools.NAME.sync(...)` is for functions
  that cannot `await`. A tool called `crm.search` is `tools.crm.search`.
- `tools.call(name, arguments)`: the same, for names that are no names in Python. It has `sync`, too.
- `tools.list()` and `tools.search("invoice")`: which tools there are.
- `tools.execute_skill(name, **args)`: runs a skill in a sandbox of its own, if that is allowed here.
- `tools.input(prompt)`: a line of text; `tools.getpass(prompt)`: one that is not shown.
- `tools.ToolError`: raised where a tool has failed; it has `tool` and `message`.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

from _wardian import asking, called_tools
from _wardian.asking import ToolError

__all__ = ["ToolError", "call", "execute_skill", "getpass", "input", "list", "search"]


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


async def execute_skill(name: str, /, **args: Any) -> Any:
    """Executes a skill with these arguments, and returns its output: a dictionary, as for any caller. It has a sandbox, permissions and
    packages of its own; the program waits for it. `tools.call("execute_skill", {"name": ..., "args": ...})`
    returns the other parts of its result as well: `output_blobs`, `files`, `logs_preview`, `run_id`.

    Raises:
        ToolError: The skill has failed, or there is none of this name that the program may execute.
    """
    return _output(await asking.ask_tool(*_execution(name, args)))


def _execute_skill_now(name: str, /, **args: Any) -> Any:
    """Executes a skill from a function that cannot `await`."""
    return _output(asking.ask_tool_now(*_execution(name, args)))


def _execution(name: str, args: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    tool = called_tools.find(called_tools.EXECUTE_SKILL).name
    return tool, {"name": name, "args": args}


def _output(executed: Any) -> Any:
    return executed["output"]


execute_skill.sync = _execute_skill_now  # type: ignore[attr-defined]


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
