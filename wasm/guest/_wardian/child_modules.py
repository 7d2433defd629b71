"""The modules of a child process: those of the library are shared with its parent, all others are its own.

A child imports the files of its program anew. A module of the library that is loaded stays loaded, since
compiled code cannot be loaded twice; its names, and the attributes of the classes of the standard library, are
afterwards what they were before. A module of the library that the child has loaded stays, as a faster import.
"""

from __future__ import annotations

import operator
import sys
from types import ModuleType
from typing import Any

from _wardian import places

_modules = sys.modules
_stdlib = sys.stdlib_module_names
_set_of_type, _delete_of_type = type.__setattr__, type.__delattr__
_same = operator.is_

_OF_IMAGE = frozenset({"_wardian", "_host", "_reactor", "runtime"})
"""Modules that belong to no process: they are neither hidden nor put back."""

_HEAP_TYPE, _IMMUTABLE = 1 << 9, 1 << 8
_NOT_RESTORED = frozenset({
    "__abstractmethods__", "__annotate__", "__annotate_func__", "__annotations__",
    "__annotations_cache__", "__dict__", "__doc__", "__static_attributes__", "__weakref__",
})  # fmt: skip
_MISSING: Any = object()

_known: dict[str, Any] = {}
"""Modules of the library that were asked for before."""


def note_image() -> None:
    """Notes the modules of the image: none of them is a program's own."""
    _known.update((name, module) for name, module in _modules.items() if name != "__main__")


def _is_library_path(path: object) -> bool:
    if type(path) is not str:
        return False
    folders = (places.LIBRARY, places.BATTERIES, places.LAYERS)
    return path.startswith((places.OWN_CODE, "<frozen", *(f"{folder}/" for folder in folders)))


def is_library(name: str, module: Any) -> bool:
    """True for a module of Python, of an installed package, or of Wardian."""
    if _known.get(name, _MISSING) is module:
        return True
    found = _is_library(name, module)
    if found:
        _known[name] = module
    return found


def _is_library(name: str, module: Any) -> bool:
    top = name.partition(".")[0]
    if top in _OF_IMAGE or module is None:
        return True
    if name in ("__main__", "main"):
        return False
    names = getattr(module, "__dict__", {})
    file = names.get("__file__")
    if type(file) is str and file != "built-in":  # as Cython calls it
        return _is_library_path(file)
    spec = names.get("__spec__")
    if getattr(spec, "origin", None) in ("built-in", "frozen", "<wardian>"):
        return True
    if top in _stdlib or top.startswith(("_cython_", "cython_runtime")):
        return True
    try:
        folders = list(names.get("__path__") or ())
    except Exception:
        folders = []
    if folders:
        return _is_library_path(folders[0])
    if top != name:  # such as `six.moves`, which has no file
        parent = _modules.get(top)
        return parent is not None and is_library(top, parent)
    return name == "skills"


class Modules:
    """The loaded modules at the start of a child. Making it hides those that are not the library's."""

    def __init__(self) -> None:
        self._before: dict[str, Any] = dict(_modules)
        self._names: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._classes: list[tuple[type, dict[str, Any]]] = []
        try:
            self._note()
        except BaseException:
            _modules.update(self._before)
            raise

    def _note(self) -> None:
        for name, module in self._before.items():
            if not is_library(name, module):
                del _modules[name]
                continue
            top = name.partition(".")[0]
            names = getattr(module, "__dict__", None)
            if top in _OF_IMAGE or type(names) is not dict:
                continue
            self._names.append((names, names.copy()))
            if top in _stdlib:
                self._note_classes(name, names)

    def _note_classes(self, name: str, names: dict[str, Any]) -> None:
        for value in names.values():
            if isinstance(value, type) and value.__flags__ & (_HEAP_TYPE | _IMMUTABLE) == _HEAP_TYPE:
                attributes = type.__dict__["__dict__"].__get__(value)
                if attributes.get("__module__") == name:
                    self._classes.append((value, dict(attributes)))

    def own(self) -> list[ModuleType]:
        """The modules of the child's own program, the last one first."""
        return [
            module
            for name, module in reversed(list(_modules.items()))
            if isinstance(module, ModuleType)
            and self._before.get(name) is not module
            and not is_library(name, module)
        ]

    def put_back(self) -> None:
        """Makes the modules those of the parent again. New ones of the library stay."""
        kept = {}
        for name, module in list(_modules.items()):
            before = self._before.get(name, _MISSING)
            if before is module:
                continue
            if before is _MISSING and is_library(name, module) and not _is_alias(name, module):
                kept[name] = module
            else:
                del _modules[name]
        for name, module in self._before.items():
            if _modules.get(name, _MISSING) is not module:
                _modules[name] = module
        new = {id(module) for module in kept.values() if module is not None}
        for names, before in self._names:
            if not _is_unchanged(names, before):
                _restore_names(names, before, new)
        for kind, attributes in self._classes:
            if not _is_unchanged(type.__dict__["__dict__"].__get__(kind), attributes):
                _restore_class(kind, attributes)


def _is_alias(name: str, module: Any) -> bool:
    """True for a module that a program has given another name."""
    own = getattr(module, "__name__", name)
    return "." not in name and isinstance(own, str) and own.partition(".")[0] != name


def _is_unchanged(now: Any, before: dict[str, Any]) -> bool:
    # The names need no look: another one would be the last, with a value of its own.
    return len(now) == len(before) and all(map(_same, now.values(), before.values()))


def _restore_names(names: dict[str, Any], before: dict[str, Any], new: set[int]) -> None:
    """Restores the names of a module, but for new modules of the library: packages have their modules as
    attributes, and some look for a package that may come later."""
    for name in [name for name in names if name not in before]:
        if id(names[name]) not in new:
            del names[name]
    for name, value in before.items():
        now = names.get(name, _MISSING)
        if now is not value and id(now) not in new:
            names[name] = value


def _restore_class(kind: type, attributes: dict[str, Any]) -> None:
    now = dict(type.__dict__["__dict__"].__get__(kind))
    for name in now.keys() - attributes.keys() - _NOT_RESTORED:
        _delete_of_type(kind, name)
    for name, value in attributes.items():
        if name not in _NOT_RESTORED and now.get(name, _MISSING) is not value:
            _set_of_type(kind, name, value)


def clear(module: ModuleType) -> None:
    """Empties a module of a child that has ended, in the order in which Python does it."""
    names = module.__dict__
    for is_private in (True, False):
        for name in list(names):
            is_of_pass = (name[:1] == "_" and name[1:2] != "_") == is_private
            if is_of_pass and name != "__builtins__":
                names[name] = None
