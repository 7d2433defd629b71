"""Imports of mounted skills: `from skills.acme.sales.report import main`.

The dotted name of a skill is a module path below the package `skills`, with dashes as underscores.
The module is the skill's entrypoint file, and also a package whose folder is that of the file, so
that `skills.acme.sales.report.utils` is the file `utils.py` beside it.

Within a skill's own files, `import utils` also imports the file beside, although several mounted
skills may each have such a file: their modules get an `__import__` of their own that searches the
skill's folder first. It never shadows the standard library, `runtime` or `skills`. A module of a
skill exists once, under its name below `skills`, for both ways to import it. The entrypoint file,
imported as `main` by a file beside it, is the skill's module itself.

Files are found by name, never by listing folders. Only `SkillLoader.get_code` turns a file into
code.
"""

from __future__ import annotations

import builtins
import marshal
import os
import posix
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from stat import S_ISDIR, S_ISREG
from types import CodeType, ModuleType
from typing import Any

from _wardian import places

ROOT = "skills"

_OWN_FOLDER = "__code__"
"""Stands for a skill's folder in the name of a file beside the entrypoint that is called like
another mounted skill: `code/report.py` of `acme.sales` while `acme.sales.report` is mounted."""

_PREFIX = ROOT + "."
_NOT_SHADOWED = sys.stdlib_module_names | {"runtime", ROOT, "_wardian", "_host"}
_READ_SIZE = 1 << 16

_import: Callable[..., ModuleType] = builtins.__import__
_module_from_spec = module_from_spec
_modules = sys.modules
_stat, _open, _read, _close = posix.stat, posix.open, posix.read, posix.close

_mounts: Sequence[dict[str, Any]] = ()
_skills: dict[str, _Skill] | None = None  # by module path below `skills`; made when first needed


def mount(skills: Sequence[dict[str, Any]]) -> None:
    """Sets the skills that this run may import: the job's list."""
    global _mounts, _skills
    _mounts = skills
    _skills = None


def begin_process() -> object:
    """Begins a child process, which imports skills anew. Returns what `end_process` puts back."""
    global _skills
    before, _skills = _skills, None
    return before


def end_process(before: Any) -> None:
    """Goes on with the skills of the parent."""
    global _skills
    _skills = before


def install() -> None:
    """Makes the package `skills`, and inserts the finder before Python's own.

    Python's finder would find the files of skills too, but would load them as ordinary modules.
    """
    package = ModuleType(ROOT, "The skills that are mounted in this run.")
    package.__path__ = []
    package.__spec__ = ModuleSpec(ROOT, None, is_package=True)
    _modules[ROOT] = package
    sys.meta_path.insert(0, SkillFinder())


def import_skill(name: str) -> ModuleType:
    """Imports the entrypoint module of the mounted skill called `name`.

    This is four times as fast as the import statement: the packages above the skill are made
    directly. If one of them is a skill itself, the import statement is used.
    """
    path = _module_path(name)
    skills = _mounted()
    parent = _modules[ROOT]
    *levels, tail = path.split(".")
    above = ""
    for level in levels:
        above = f"{above}.{level}" if above else level
        if above in skills or _PREFIX + above in _modules:
            _import(_PREFIX + path)
            return _modules[_PREFIX + path]
        parent = _add_module(parent, level, _folder_spec(_PREFIX + above, []))
    skill = skills[path]
    return _add_module(parent, tail, _spec(skill.full_name, skill.entry_file, skill, skill.folder))


def _add_module(parent: ModuleType, tail: str, spec: ModuleSpec) -> ModuleType:
    """Makes and runs the module `tail` of the package `parent`."""
    module = _module_from_spec(spec)
    _modules[spec.name] = module
    if isinstance(spec.loader, SkillLoader):
        try:
            spec.loader.exec_module(module)
        except BaseException:
            _modules.pop(spec.name, None)
            raise
    setattr(parent, tail, module)
    return module


class _Skill:
    """A mounted skill that has code, or documents only."""

    __slots__ = (
        "entry_file",
        "entry_stem",
        "folder",
        "full_name",
        "has_bytecode",
        "name",
        "namespace",
    )

    def __init__(self, mounted: dict[str, Any]) -> None:
        self.name: str = mounted["name"]
        self.full_name = _PREFIX + _module_path(self.name)
        entrypoint = mounted.get("entrypoint")
        self.entry_file = self.folder = self.entry_stem = ""
        if entrypoint is not None:
            self.entry_file = f"{places.SKILLS}/{self.name}/{entrypoint['path']}"
            self.folder, _, file_name = self.entry_file.rpartition("/")
            self.entry_stem = file_name.removesuffix(".py")
        self.has_bytecode = bool(mounted.get("has_bytecode"))
        self.namespace: dict[str, Any] | None = None

    def builtins(self) -> dict[str, Any]:
        """The builtins of the skill's modules: Python's, but with an `__import__` of its own."""
        if self.namespace is None:
            self.namespace = {**vars(builtins), "__import__": _SiblingImport(self)}
        return self.namespace


def _module_path(skill_name: str) -> str:
    return skill_name.replace("-", "_")


def _mounted() -> dict[str, _Skill]:
    global _skills
    if _skills is None:
        _skills = {_module_path(mounted["name"]): _Skill(mounted) for mounted in _mounts}
    return _skills


def _has_skills_below(path: str) -> bool:
    return any(other.startswith(path + ".") for other in _mounted())


class SkillFinder:
    """Finds the modules below `skills` and no others."""

    def find_spec(
        self, full_name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        """Returns the spec of a skill, of a level above skills, or of a file of a skill.

        Raises:
            ModuleNotFoundError: The name belongs to no mounted skill.
            ImportError: It names a skill without code.
        """
        if not full_name.startswith(_PREFIX):
            return None
        name = full_name[len(_PREFIX) :]
        skill = _mounted().get(name)
        if skill is not None and skill.entry_file:
            return _spec(full_name, skill.entry_file, skill, skill.folder)
        if _has_skills_below(name):
            return _folder_spec(full_name, [])
        if skill is not None:
            raise ImportError(
                f"the skill `{skill.name}` has no code to import: it is an instruction skill, "
                f"with its documents under {places.SKILLS}/{skill.name}/",
                name=full_name,
            )
        owner = _owner(name)
        if owner is not None:
            return _spec_in_folder(full_name, owner, path)
        raise _not_mounted(full_name)


def _owner(name: str) -> _Skill | None:
    """The skill whose package contains the module `name`."""
    while name:
        name = name.rpartition(".")[0]
        skill = _mounted().get(name)
        if skill is not None and skill.entry_file:
            return skill
    return None


def _spec_in_folder(full_name: str, skill: _Skill, path: Sequence[str] | None) -> ModuleSpec | None:
    tail = full_name.rpartition(".")[2]
    if tail == _OWN_FOLDER:
        return _folder_spec(full_name, [skill.folder])
    for folder in path or ():
        found = _find_file(folder, tail)
        if found is None:
            continue
        file, package_folder = found
        if file is not None:
            return _spec(full_name, file, skill, package_folder)
        return _folder_spec(full_name, [f"{folder}/{tail}"])
    return None


def _find_file(folder: str, tail: str) -> tuple[str | None, str | None] | None:
    """Finds the module `tail`: its file, and its folder if it is a package."""
    inner = f"{folder}/{tail}"
    is_folder = _is(S_ISDIR, inner)
    if is_folder and _is(S_ISREG, f"{inner}/__init__.py"):
        return f"{inner}/__init__.py", inner
    if _is(S_ISREG, f"{inner}.py"):
        return f"{inner}.py", None
    return (None, inner) if is_folder else None


def _is(what: Callable[[int], bool], path: str) -> bool:
    try:
        return what(_stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _spec(full_name: str, file: str, skill: _Skill, package_folder: str | None) -> ModuleSpec:
    loader = SkillLoader(full_name, file)
    loader.skill = skill
    spec = ModuleSpec(full_name, loader, origin=file, is_package=package_folder is not None)
    spec.has_location = True
    if package_folder is not None:
        spec.submodule_search_locations = [package_folder]
    return spec


def _folder_spec(full_name: str, folders: list[str]) -> ModuleSpec:
    """A package without a file, for the modules below it."""
    spec = ModuleSpec(full_name, None, is_package=True)
    spec.submodule_search_locations = folders
    return spec


def _not_mounted(full_name: str) -> ModuleNotFoundError:
    mounted = ", ".join(f"`{skill.name}`" for skill in _mounted().values()) or "none"
    # No `name=`: `from skills.acme import x` would swallow an error that carries its own name.
    return ModuleNotFoundError(
        f"No module named {full_name!r}: no such skill is mounted in this run; "
        f"add its name to `mount_skills` (mounted: {mounted})"
    )


class _SkillModule(ModuleType):
    """A module whose own names are not replaced by imported submodules.

    Python makes every submodule an attribute of its package, and with it a global name there: a
    function `report` of the skill `acme.sales` would be lost to the file `report.py` beside it,
    or to the skill `acme.sales.report`.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name in self.__dict__ and isinstance(value, ModuleType):
            if getattr(value, "__name__", None) == f"{self.__name__}.{name}":
                return
        super().__setattr__(name, value)


class SkillLoader(SourceFileLoader):
    """Loads one file of a skill. What it inherits serves `inspect` and `importlib.resources`."""

    skill: _Skill

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Makes the empty module."""
        return _SkillModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Runs the file's code as `module`, with the skill's own `__import__`."""
        namespace = module.__dict__
        namespace["__builtins__"] = self.skill.builtins()
        code = self.get_code(module.__name__)
        if self.path != self.skill.entry_file:
            exec(code, namespace)
            return
        alias = f"{module.__name__}.{self.skill.entry_stem}"
        _modules[alias] = module
        try:
            exec(code, namespace)
        except BaseException:
            _modules.pop(alias, None)
            raise

    def get_code(self, fullname: str) -> CodeType:
        """The file's code: compiled before the run, if it was, or now from its source."""
        if self.skill.has_bytecode:
            try:
                compiled = _read_file(places.BYTECODE + self.path[len(places.SKILLS) :])
            except OSError:
                pass  # a file that does not compile, or is not Python
            else:
                return marshal.loads(compiled)
        return compile_file(self.path)


def compile_file(path: str) -> CodeType:
    """Compiles a file of a skill."""
    return compile(_read_file(path), path, "exec", 0, True)


def _read_file(path: str) -> bytes:
    """Reads a whole file with the fewest calls to the host."""
    descriptor = _open(path, os.O_RDONLY)
    try:
        parts = []
        while part := _read(descriptor, _READ_SIZE):
            parts.append(part)
    finally:
        _close(descriptor)
    return b"".join(parts)


class _SiblingImport:
    """The `__import__` of one skill's modules."""

    __slots__ = ("known", "skill")

    def __init__(self, skill: _Skill) -> None:
        self.skill = skill
        self.known: dict[str, str | None] = {skill.entry_stem: skill.full_name}

    def __call__(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if level:
            return _import(name, globals, locals, fromlist, level)
        top, _, below = name.partition(".")
        try:
            sibling = self.known[top]
        except KeyError:
            sibling = self.known[top] = self._find(top)
        if sibling is None:
            return _import(name, globals, locals, fromlist, 0)
        return self._import_sibling(sibling, below, fromlist)

    def _find(self, top: str) -> str | None:
        """The full name of the file or folder `top` beside the entrypoint, if there is one."""
        if top in _NOT_SHADOWED or _find_file(self.skill.folder, top) is None:
            return None
        path = f"{self.skill.full_name}.{top}"[len(_PREFIX) :]
        if path in _mounted() or _has_skills_below(path):
            return f"{self.skill.full_name}.{_OWN_FOLDER}.{top}"
        return f"{self.skill.full_name}.{top}"

    def _import_sibling(
        self, sibling: str, below: str, fromlist: Sequence[str] | None
    ) -> ModuleType:
        wanted = f"{sibling}.{below}" if below else sibling
        module = _import(wanted, None, None, fromlist or ("__name__",), 0)
        return module if fromlist else _modules[sibling]
