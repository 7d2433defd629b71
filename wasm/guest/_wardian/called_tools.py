"""The module `tools` of a program: the tools of its caller as functions, `crm.search` as `search` of `crm`.

    from tools import crm
    rows = await crm.search(query="invoice", limit=10)

The functions have signatures and documentation, which are made when they are first looked at. Names and
descriptions come from the caller, and nobody has checked more than their form. A module `tools` of the
program itself is imported instead: the same is in `runtime.tools` then.
"""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from _wardian import asking, tool_schemas

ROOT = "tools"

EXECUTE_SKILL = "execute_skill"
"""The tool that executes skills. The module `tools` has a function for it."""

SUMMARY_MAX = 200
"""Most characters of a description in a list of tools."""

_modules = sys.modules
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")


class CalledTool:
    """A tool as it is declared."""

    def __init__(self, declared: dict[str, Any]) -> None:
        self.name: str = declared["name"]
        self.path = [identifier(part) for part in self.name.split(".")]
        self.description: str = declared.get("description") or ""
        self._schemas = declared.get("input_schema"), declared.get("output_schema")
        self._function: Callable[..., Any] | None = None
        self._words: tuple[list[str], list[str], list[str]] | None = None

    @property
    def has_attribute(self) -> bool:
        """True if the tool is an attribute of its namespace."""
        return all(part.isidentifier() for part in self.path)

    @property
    def function(self) -> Callable[..., Any]:
        """The tool as a function. Awaiting a call of it gives its output; `sync` of it is for functions
        that cannot `await`."""
        if self._function is None:
            self._function = self._made()
        return self._function

    def line(self) -> dict[str, str]:
        """What a list of tools says of it."""
        text = self.description.strip().partition("\n")[0]
        if len(text) > SUMMARY_MAX:
            text = text[: SUMMARY_MAX - 1] + "…"
        path = f"{ROOT}.{'.'.join(self.path)}"
        if self.name == EXECUTE_SKILL:
            call = f"await {path}(name, **args)"
        elif not self.has_attribute or any(map(keyword.iskeyword, self.path)):
            path = f"{ROOT}.call"
            call = f"await {path}({self.name!r}, {{...}})"
        else:
            signature: Any = self.function.__signature__  # type: ignore[attr-defined]
            call = f"await {path}{signature}"
        return {"name": self.name, "call": call, "description": text}

    def words(self) -> tuple[list[str], list[str], list[str]]:
        """The words of its name, of its arguments and of its description."""
        if self._words is None:
            schema = self._schemas[0]
            properties = schema.get("properties") if isinstance(schema, dict) else None
            names = " ".join(properties) if isinstance(properties, dict) else ""
            self._words = _words(self.name), _words(names), _words(self.description)
        return self._words

    def _made(self) -> Callable[..., Any]:
        arguments = tool_schemas.Arguments(self._schemas[0])
        returned = tool_schemas.returned(self._schemas[1])
        signature = arguments.signature.replace(return_annotation=returned)
        name, qualified = self.name, ".".join(self.path)

        def bound(unnamed: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
            try:
                return arguments.of(unnamed, named)
            except TypeError as misfit:
                raise TypeError(f"{qualified}{signature}: {misfit}") from None

        async def function(*unnamed: Any, **named: Any) -> Any:
            return await asking.ask_tool(name, bound(unnamed, named))

        def sync(*unnamed: Any, **named: Any) -> Any:
            return asking.ask_tool_now(name, bound(unnamed, named))

        for made, tail in ((function, ""), (sync, ".sync")):
            about: Any = made
            about.__name__ = self.path[-1] if not tail else "sync"
            about.__qualname__ = self.path[-1] + tail
            about.__module__ = ".".join([ROOT, *self.path[:-1]])
            about.__signature__ = signature
            about.__annotations__ = {
                one.name: one.annotation for one in signature.parameters.values()
            }
            about.__doc__ = self._documentation(arguments)
        function.sync = sync  # type: ignore[attr-defined]
        return function

    def _documentation(self, arguments: tool_schemas.Arguments) -> str:
        parts = [self.description.strip() or f"The tool {self.name} of the caller."]
        for title, lines in (
            ("Arguments", arguments.lines()),
            ("Returns", tool_schemas.lines_of_output(self._schemas[1])),
        ):
            if lines:
                parts.append("\n".join([f"{title}:", *lines]))
        return "\n\n".join(parts)


class Namespace(ModuleType):
    """Tools whose names begin alike. `dir` of it has their names, `help` of them their arguments."""

    def __init__(self, path: Sequence[str]) -> None:
        super().__init__(".".join(path), "Tools of the caller.")
        self.__path__: list[str] = []
        self.__spec__ = ModuleSpec(self.__name__, None, is_package=True)
        self._entries: dict[str, CalledTool | Namespace] = {}

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":  # for `help`
            return [one for one in dir(self) if one.isidentifier()]
        entry = self.__dict__.get("_entries", {}).get(name)
        if entry is None:
            raise AttributeError(f"there is no tool {_below(self.__name__, name)!r}; {_declared()}")
        return entry.function if isinstance(entry, CalledTool) else entry

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system would keep what is below for longer than it is declared.
        if not isinstance(value, Namespace):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        public = [name for name in self.__dict__ if not name.startswith("_")]
        return sorted({*self._entries, *public})

    def __repr__(self) -> str:
        return f"<tools of the caller {self.__name__!r}>"


declared: dict[str, CalledTool] = {}
"""The tools of the present call, by their names."""

root = Namespace([ROOT])
"""The module `tools`."""

_namespaces: dict[str, Namespace] = {}  # those below, by their paths: a program may hold one
_finder: _ToolFinder | None = None


def identifier(name: str) -> str:
    """A part of a tool's name as an attribute: signs other than letters and digits are underscores."""
    return "".join(sign if sign.isalnum() else "_" for sign in name)


def declare(tools: Iterable[dict[str, Any]]) -> None:
    """Makes these the tools of the program from now on."""
    declared.clear()
    for namespace in (root, *_namespaces.values()):
        namespace._entries.clear()
    for one in tools:
        tool = CalledTool(one)
        declared[tool.name] = tool
        if tool.has_attribute and tool.name != EXECUTE_SKILL:
            _place_of(tool.path)[tool.path[-1]] = tool
    asking.names.clear()
    asking.names.update(declared)
    if declared:
        _let_import()


def _place_of(path: Sequence[str]) -> dict[str, Any]:
    """The entries of the namespace that a tool belongs to."""
    namespace, full = root, ROOT
    for part in path[:-1]:
        full = f"{full}.{part}"
        inner = _namespaces.get(full)
        if inner is None:
            inner = _namespaces[full] = Namespace([full])
        namespace._entries[part] = inner
        namespace = inner
    return namespace._entries


def find(name: str) -> CalledTool:
    """The tool of this name.

    Raises:
        ToolError: The call has not declared it.
    """
    tool = declared.get(name)
    if tool is None:
        raise asking.unknown(name)
    return tool


def listed(prefix: str = "") -> list[dict[str, str]]:
    """What is said of the tools whose names begin so, in the order of the call."""
    return [tool.line() for tool in declared.values() if tool.name.startswith(prefix)]


def searched(query: str, limit: int) -> list[dict[str, str]]:
    """The tools that fit the words of a query, the best first; equal ones in the order of the call."""
    words = _words(query)
    scores = [(_score(tool, words, query), tool) for tool in declared.values()]
    found = sorted((pair for pair in scores if pair[0]), key=lambda pair: -pair[0])
    return [tool.line() for _, tool in found[: max(limit, 0)]]


_WEIGHTS = (8, 3, 2)
"""What a word counts in a name, in the names of arguments, and in a description."""


def _score(tool: CalledTool, words: list[str], query: str) -> int:
    score = 100 if tool.name == query.strip() else 0
    for word in words:
        for weight, known in zip(_WEIGHTS, tool.words(), strict=True):
            if word in known:
                score += 2 * weight
            elif any(_is_like(word, one) for one in known):
                score += weight
    return score


def _is_like(word: str, other: str) -> bool:
    """True if one is the beginning of the other: `invoice` and `invoices`."""
    return min(len(word), len(other)) >= 3 and (word.startswith(other) or other.startswith(word))


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(word.lower() for word in _WORDS.findall(text)))


def _below(module: str, name: str) -> str:
    return ".".join([*module.split(".")[1:], name])


def _declared() -> str:
    if not declared:
        return "the call has declared none"
    few = list(declared)[:20]
    return f"the call has declared {', '.join(few)}" + (", ..." if len(few) < len(declared) else "")


asking.describe_declared = _declared


class _ToolFinder:
    """Finds `tools` and what is below it, unless the program has a module of that name; also its
    loader."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """Finds a namespace of the present tools."""
        if name == ROOT:
            for finder in self._others():
                spec = finder.find_spec(name, path, target)
                if spec is not None and spec.loader is not None:  # a folder is no module
                    return spec
            return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        if name in _namespaces and _modules.get(ROOT) is root:
            if _namespaces[name]._entries:
                return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        return None

    def _others(self) -> Iterator[Any]:
        for finder in sys.meta_path:
            # The last one has advice for what is not installed.
            if finder is not self and type(finder).__name__ != "MissingPackages":
                yield finder

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The namespace itself: there is one of each."""
        return root if spec.name == ROOT else _namespaces[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing."""


def _let_import() -> None:
    global _finder
    if _finder is None:
        _finder = _ToolFinder()
        sys.meta_path.insert(0, _finder)  # type: ignore[arg-type]


def forget() -> None:
    """Forgets all tools; for rehearsals and tests."""
    global _finder
    declare(())
    _namespaces.clear()
    if _finder is not None and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)  # type: ignore[arg-type]
    _finder = None
    for name in [name for name, module in _modules.items() if isinstance(module, Namespace)]:
        del _modules[name]
