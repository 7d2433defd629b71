"""The tools of a model that its caller executes: which of them it calls, and which its code. Does no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

from wardian._caller_tools import CallerTool, Tools, caller_tools
from wardian._signatures import Schema
from wardian._wire import JsonObject
from wardian.options import ToolFormat

AllowedCallers: TypeAlias = Mapping[str, Iterable[str]]
"""Who calls a tool, by its name: the model (`direct`), its code (any other word, such as `code`), or both."""

DIRECT = "direct"
RESERVED = ("call", "list", "search", "input", "getpass", "ToolError")
"""Names that the module `tools` of programs has itself."""
LISTED = 20
"""Most tools that the description of `run_code` names. `tools.search` finds the others."""
LONGEST_LINE = 200
"""Most characters that it says of each."""


class ModelTools:
    """The functions of a caller, and the definitions that it has for a model.

    Functions are those in `functions`, and the tools of the Anthropic SDK among the definitions. A
    definition without a function is the vendor's affair.
    """

    def __init__(
        self,
        functions: Tools = (),
        allowed_callers: AllowedCallers | None = None,
        definitions: Iterable[Any] = (),
        *,
        awaits: bool,
    ) -> None:
        self._tools = caller_tools(functions, awaits=awaits)
        self._definitions: dict[str, JsonObject] = {}
        self.others: list[JsonObject] = []
        """The definitions that the vendor gets as they are."""
        callers: dict[str, tuple[str, ...]] = {}
        for one in definitions:
            if not isinstance(one, Mapping):
                tool = caller_tools([one], awaits=awaits)
                if not tool.keys().isdisjoint(self._tools):
                    raise ValueError("two tools have the same name")
                self._tools |= tool
            definition: JsonObject = {**cast(JsonObject, one if isinstance(one, Mapping) else one.to_dict())}
            name = _name_in(definition)
            if name is None or name not in self._tools:
                self.others.append(definition)
                continue
            # The vendor would take the word for a program of its own.
            marked = definition.pop("allowed_callers", None)
            if marked is not None:
                callers[name] = _words(name, marked)
            self._definitions[name] = definition
        for name, words in (allowed_callers or {}).items():
            callers[name] = _words(name, words)
        unknown = sorted(callers.keys() - self._tools.keys())
        if unknown:
            raise ValueError(f"`allowed_callers` names {', '.join(unknown)}, which is no function")
        self._callers = callers
        for tool in self.of_code():
            if tool.name.partition(".")[0] in RESERVED:
                raise ValueError(
                    f"code cannot call `{tool.name}`, because the module `tools` has this name itself: "
                    'give another one, as in `functions={"find_customers": search}`'
                )

    @property
    def names(self) -> set[str]:
        """The names of all functions."""
        return set(self._tools)

    def is_direct(self, name: str) -> bool:
        """True if the model calls this function."""
        return name in self._tools and DIRECT in self._callers.get(name, (DIRECT,))

    def of_code(self) -> list[CallerTool]:
        """The functions that the model's code calls."""
        return [
            tool
            for name, tool in self._tools.items()
            if any(word != DIRECT for word in self._callers.get(name, ()))
        ]

    def tool(self, name: str) -> CallerTool:
        """The function of this name."""
        return self._tools[name]

    def definitions(self, format: ToolFormat) -> list[JsonObject]:
        """The definitions of the functions that the model calls."""
        return [
            self._definitions.get(name) or _defined(tool, format)
            for name, tool in self._tools.items()
            if self.is_direct(name)
        ]

    def advice(self) -> str:
        """What the description of `run_code` says of the functions of code."""
        tools = self.of_code()
        if not tools:
            return ""
        lines = [_line(tool) for tool in tools[:LISTED]]
        if len(tools) > LISTED:
            more = len(tools) - LISTED
            lines.append(f'- and {more} more: `tools.search("words")` and `help(tools.NAME)` tell of them')
        return (
            "\n\nThe code can `import tools` and call these; each returns JSON data, and raises "
            "`tools.ToolError` if it fails. Call several with `asyncio.gather`, and let the code return "
            "only what you need of what they return.\n" + "\n".join(lines)
        )


def _name_in(definition: JsonObject) -> str | None:
    function = definition.get("function")
    name = (cast(JsonObject, function) if isinstance(function, dict) else definition).get("name")
    return name if isinstance(name, str) else None


def _words(name: str, callers: Any) -> tuple[str, ...]:
    """Who calls a tool. A `str` is one word, not a sequence of letters."""
    words = (callers,) if isinstance(callers, str) else tuple(callers)
    if not words or not all(isinstance(word, str) for word in words):
        raise ValueError(f"nobody may call `{name}`: `allowed_callers` has 'direct', 'code' or both")
    return words


def _defined(tool: CallerTool, format: ToolFormat) -> JsonObject:
    schema: Schema = tool.schemas.get("input_schema") or {"type": "object", "properties": {}}
    plain: JsonObject = {"name": tool.name, "description": tool.description or ""}
    if format == "anthropic":
        return {**plain, "input_schema": schema}
    if format == "openai":
        return {"type": "function", "function": {**plain, "parameters": schema}}
    return {**plain, "parameters": schema}


def _line(tool: CallerTool) -> str:
    """A tool as code calls it."""
    schema: Schema = tool.schemas.get("input_schema") or {}
    properties: dict[str, Any] = schema.get("properties") or {}
    required: list[str] = schema.get("required") or []
    names = sorted(properties, key=lambda name: name not in required)
    arguments = ", ".join(name if name in required else f"{name}=..." for name in names)
    path = ["".join(sign if sign.isalnum() else "_" for sign in part) for part in tool.name.split(".")]
    call = f"tools.{'.'.join(path)}({arguments})"
    if not all(part.isidentifier() for part in path):
        call = f"tools.call({tool.name!r}, {{...}})"
    about = (tool.description or "").strip().partition("\n")[0]
    text = f"`await {call}`" + (f": {about}" if about else "")
    return "- " + (text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + "…")
