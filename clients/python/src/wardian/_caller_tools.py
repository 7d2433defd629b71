"""What a caller gives as a tool: functions, and the tools of LangChain, Pydantic AI and the Anthropic SDK.
Does no I/O.

None of these packages is imported here: whoever has one of its tools has imported it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias, cast

from wardian import _outputs, _signatures
from wardian._signatures import Schema
from wardian._wire import JsonObject

Function: TypeAlias = Callable[..., Any]
"""A function that answers requests, or for an `AsyncSession` also a coroutine function."""


class NamedTool(Protocol):
    """A tool of LangChain (`BaseTool`), of Pydantic AI (`Tool`) or of the Anthropic SDK (`@beta_tool`)."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def description(self) -> str | None:
        """What it does."""
        ...


Tools: TypeAlias = Sequence[Function | NamedTool] | Mapping[str, Function | NamedTool]
"""Tools, with their own names or with others: `{"crm.search": search}`."""

LONGEST_DESCRIPTION = 4_096
"""Characters of a description that the server accepts."""


@dataclass(frozen=True)
class CallerTool:
    """A tool as a call declares it, and how it is called."""

    name: str
    description: str | None
    schemas: Schema
    """The members `input_schema` and `output_schema`, as far as they are known."""
    call: Callable[[JsonObject], Any]

    def declared(self) -> JsonObject:
        """What a call says of it."""
        one: JsonObject = {"name": self.name}
        if self.description:
            one["description"] = self.description[:LONGEST_DESCRIPTION]
        return {**one, **self.schemas}


def caller_tools(tools: Tools, *, awaits: bool) -> dict[str, CallerTool]:
    """The tools by their names. `awaits` says whether coroutines are awaited.

    Raises:
        ValueError: Two of them have the same name.
        TypeError: One of them cannot be called by a program.
    """
    if isinstance(tools, Mapping):
        made = [_caller_tool(tool, name, awaits) for name, tool in tools.items()]
    else:
        made = [_caller_tool(tool, None, awaits) for tool in tools]
    named = {tool.name: tool for tool in made}
    if len(named) < len(made):
        raise ValueError("two tools have the same name")
    return named


def _caller_tool(tool: Any, name: str | None, awaits: bool) -> CallerTool:
    if isinstance(tool, CallerTool):
        return tool
    if _is_of("langchain_core.tools.base", "BaseTool", tool):
        return _of_langchain(tool, name, awaits)
    if _is_of("pydantic_ai.tools", "Tool", tool):
        return _of_pydantic_ai(tool, name, awaits)
    if _is_of("anthropic.lib.tools._beta_functions", "BaseFunctionTool", tool):
        return _of_anthropic(tool, name, awaits)
    named = name or getattr(tool, "__name__", None)
    if not isinstance(named, str) or not callable(tool):
        raise TypeError(f"a tool is a function with a name, not {tool!r}")
    if inspect.iscoroutinefunction(tool):
        _check_awaits(named, awaits)
    called = partial(_called, tool)
    return CallerTool(named, inspect.getdoc(tool), _signatures.schemas_of(tool), called)


def _called(function: Function, arguments: JsonObject) -> Any:
    value = function(**_signatures.filled(function, arguments))
    hint = _signatures.hints_of(function).get("return", Any)
    return _awaited(value, hint) if inspect.isawaitable(value) else _outputs.dumped(value, hint)


async def _awaited(value: Awaitable[Any], hint: Any) -> Any:
    return _outputs.dumped(await value, hint)


def _is_of(module: str, name: str, tool: object) -> bool:
    """True for an object of a class, without importing it."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(tool, kind)


def _check_awaits(name: str, awaits: bool) -> None:
    if not awaits:
        raise TypeError(f"the tool `{name}` is a coroutine: use an `AsyncClient`")


def _of_langchain(tool: Any, name: str | None, awaits: bool) -> CallerTool:
    # A `StructuredTool` or a `Tool` may have one of both only.
    has_function = getattr(tool, "func", tool) is not None
    if not has_function:
        _check_awaits(tool.name, awaits)
    made: Any = tool.tool_call_schema
    if not isinstance(made, dict):
        made = made.model_json_schema() if hasattr(made, "model_json_schema") else made.schema()
    # The title and the description are those of the class.
    kept = {**cast(Schema, made)}
    for noise in ("title", "description"):
        kept.pop(noise, None)

    async def call_async(arguments: JsonObject) -> Any:
        return _as_json(await tool.ainvoke(arguments))

    def call(arguments: JsonObject) -> Any:
        return _as_json(tool.invoke(arguments))

    schemas: Schema = {"input_schema": kept}
    return CallerTool(name or tool.name, tool.description, schemas, call_async if awaits else call)


def _of_pydantic_ai(tool: Any, name: str | None, awaits: bool) -> CallerTool:
    about = tool.function_schema
    for is_so, why in (
        (tool.takes_ctx, "it takes the context of the agent"),
        (tool.requires_approval, "it requires an approval"),
        (tool.prepare is not None, "it has `prepare`"),
        (tool.args_validator is not None, "it has `args_validator`"),
    ):
        if is_so:
            raise TypeError(
                f"the tool `{tool.name}` needs a run of an agent, because {why}: "
                "pass a function that calls it"
            )
    if about.is_async:
        _check_awaits(tool.name, awaits)

    async def call_async(arguments: JsonObject) -> Any:
        validated = about.validator.validate_python(arguments)
        return _returned(await about.call(validated, None))

    def call(arguments: JsonObject) -> Any:
        named = dict(about.validator.validate_python(arguments))
        unnamed = [named.pop(field) for field in about.positional_fields]
        if about.var_positional_field:
            unnamed.extend(named.pop(about.var_positional_field))
        return _returned(about.function(*unnamed, **named))

    schemas: Schema = {"input_schema": about.json_schema}
    return CallerTool(name or tool.name, tool.description, schemas, call_async if awaits else call)


def _of_anthropic(tool: Any, name: str | None, awaits: bool) -> CallerTool:
    if inspect.iscoroutinefunction(tool.func):
        _check_awaits(tool.name, awaits)
    schemas: Schema = {"input_schema": tool.input_schema}
    return CallerTool(name or tool.name, tool.description, schemas, tool.call)


def _returned(value: Any) -> Any:
    """What a function of Pydantic AI returns, without what it adds for a model."""
    is_wrapped = _is_of("pydantic_ai.messages", "ToolReturn", value)
    return _as_json(value.return_value if is_wrapped else value)


def _as_json(value: Any) -> Any:
    """The value with models, dates and the like as JSON, as both packages give them to a model."""
    from pydantic_core import to_jsonable_python  # Both packages need it.

    return to_jsonable_python(value)
