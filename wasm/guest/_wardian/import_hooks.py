"""Changes library modules when they are imported, and provides modules that are implemented here.

One finder has all tables: `amendments`, `advice` and `patches` add theirs while an image is built.
The cost for a module in no table is one look-up at its import.

A program may delete a module from `sys.modules` and import it again, or reload it. Changed modules
are changed again. Modules of the interpreter that were completed in place, such as `os`, come back
as the image has them: `keep` remembers their names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Change = Callable[[Any], None]
"""Changes a module that was just loaded."""

Fill = Callable[[dict[str, Any]], None]
"""Fills the namespace of a module that is implemented here."""

_modules = sys.modules


class HookFinder:
    """Finds the modules of the tables, with the other finders where a module has a file."""

    def __init__(self) -> None:
        self._changes: dict[str, Change] = {}
        self._lent: dict[str, Mapping[str, Fill]] = {}
        self._fills: dict[str, Fill] = {}
        self._kept: dict[str, dict[str, Any]] = {}

    def change(self, changes: Mapping[str, Change]) -> None:
        """Changes the loaded ones of these modules now, and the others when they are imported.

        Raises:
            ValueError: A module is in another table already.
        """
        self._ensure_new(changes)
        self._changes.update(changes)
        for name, change in changes.items():
            if name in _modules:
                change(_modules[name])

    def provide(self, fills: Mapping[str, Fill]) -> None:
        """Provides these modules, in the place of files of the library.

        Raises:
            ValueError: A module is in another table already.
        """
        self._ensure_new(fills)
        self._fills.update(fills)

    def lend(self, fills: Mapping[str, Mapping[str, Fill]]) -> None:
        """Provides modules to single modules of the library, by the names of these.

        Only what such a module imports while it is loaded finds them. A program that imports them
        itself is still told that they are missing.
        """
        self._lent.update(fills)

    def keep(self, names: Iterable[str]) -> None:
        """Lets later imports of these modules give the names that they have now.

        Comes last: what changes a module afterwards is lost when a program imports it again.
        """
        for name in names:
            if name in _modules:
                self._kept[name] = dict(vars(_modules[name]))

    def _ensure_new(self, names: Mapping[str, object]) -> None:
        for name in names:
            if name in self._changes or name in self._fills:
                raise ValueError(f"the module {name} has a hook already")

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the spec of a module of the tables."""
        kept = self._kept.get(name)
        if kept is not None:
            loader: Any = _KeepingLoader(kept)
            return ModuleSpec(name, loader, is_package="__path__" in kept)
        fill = self._fills.get(name)
        if fill is not None:
            return ModuleSpec(name, _ProvidingLoader(fill), origin="<wardian>")  # type: ignore[arg-type]
        change, lent = self._changes.get(name), self._lent.get(name)
        if change is None and lent is None:
            return None
        for finder in sys.meta_path:
            if finder is self:
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _ChangingLoader(spec.loader, change, lent)  # type: ignore[assignment]
                return spec
        return None


class _KeepingLoader:
    """Loads a module with the names that it had when the image was built."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves making the module to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Fills the module, its spec and loader included."""
        vars(module).update(self._names)


class _ProvidingLoader:
    """Loads a module that is implemented here."""

    def __init__(self, fill: Fill) -> None:
        self._fill = fill

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves making the module to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Fills the module."""
        self._fill(vars(module))


class _ChangingLoader:
    """Loads a module with its own loader, which finds the modules that are lent, and then changes it.

    The module gets its own loader back first. That loader itself is not changed, since an archive
    has one loader for all of its modules.
    """

    def __init__(
        self, loader: Any, change: Change | None, lent: Mapping[str, Fill] | None
    ) -> None:
        self._loader = loader
        self._change = change
        self._lent = lent or {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Makes the module, or leaves that to Python."""
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        """Loads the module and changes it."""
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        added = self._lend()
        try:
            self._loader.exec_module(module)
        finally:
            for name in added:
                _modules.pop(name, None)
        if self._change is not None:
            # Some modules put another one in their place, as `decimal` does.
            self._change(_modules.get(module.__name__, module))

    def _lend(self) -> list[str]:
        """Makes the lent modules that the program does not have, and returns their names."""
        added = [name for name in self._lent if name not in _modules]
        for name in added:
            module = ModuleType(name)
            self._lent[name](vars(module))
            _modules[name] = module
        return added


HOOKS = HookFinder()


def install() -> None:
    """Inserts the finder before Python's own."""
    sys.meta_path.insert(0, HOOKS)
