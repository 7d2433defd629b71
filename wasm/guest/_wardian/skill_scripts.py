"""Runs a script of a skill as `python scripts/fill_form.py in.pdf out.pdf` runs it on a machine.

The script is `__main__`, its folder is the first place of imports, and its working folder is that of the
run. Two ways of imports that need an option or a certain folder on a machine work as well: `from
scripts.util import x`, because the skill's folder is searched before packages, and `from .util import
x`, because a script that imports so is run as a module of its folder, as `python -m scripts.fill_form` is.

A script that ends with another exit code than 0 raises `ScriptExit`, which names the code. One that
raises ends with 1, and its traceback is printed.
"""

from __future__ import annotations

import builtins
import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType, TracebackType
from typing import Any

from _wardian import child, child_state, descriptors, failure, importer, places, remarks

_modules = sys.modules
_environment = os.environ
_RELATIVE = re.compile(rb"^[ \t]*from[ \t]+\.", re.M)


class ScriptExit(SystemExit):
    """A script has ended with an exit code other than 0."""


ScriptExit.__name__ = ScriptExit.__qualname__ = "SystemExit"
ScriptExit.__module__ = "builtins"


def run(skill: str, call: Mapping[str, Any]) -> None:
    """Runs a script, whose process this becomes.

    Raises:
        ScriptExit: It ended with another exit code than 0.
        BaseException: What the script raised; `show` prints it.
    """
    path = call["path"]
    root = f"{places.SKILLS}/{skill}"
    file = f"{root}/{path}"
    _environment.update(call.get("env") or {})
    stdin = call.get("stdin")
    if stdin is not None:
        descriptors.Redirection({0: descriptors.scratch(_encoded(stdin))}).__enter__()
        sys.stdin = descriptors.text_stream(0, "utf-8", "surrogateescape", "lines")
    sys.argv = [file, *(call.get("argv") or ())]
    _search(root)
    sys.path.insert(0, file.rpartition("/")[0])
    code = importer.compile_file(file)
    namespace = _as_main(file, path).__dict__
    try:
        exec(code, namespace)
    except SystemExit as stop:
        status = exit_code(stop)
        if status:
            raise ScriptExit(f"`{path}` ended with exit code {status}") from None


def exit_code(stop: SystemExit) -> int:
    """The exit code of a process that ends so. A text is printed, as Python does."""
    code = stop.code
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code) & 0xFF
    try:
        print(code, file=sys.stderr)
    except BaseException:
        pass
    return 1


def show(exception: BaseException) -> None:
    """Prints what ended a script to its error stream, as Python does. Never raises."""
    if isinstance(exception, SystemExit):
        return
    try:
        # The usual hook reads the frames from the exception.
        exception.__traceback__ = frames = _own_frames(exception.__traceback__)
        sys.excepthook(type(exception), exception, frames)
    except BaseException:
        pass


def _own_frames(frames: TracebackType | None) -> TracebackType | None:
    """The frames from the script on."""
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(places.OWN_CODE):
        frames = frames.tb_next
    return frames


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _search(root: str) -> None:
    """Lets modules be found in the folder of the skill, and not in that of the run, as on a machine: files of
    the caller are there."""
    sys.path[:] = [folder for folder in sys.path if folder != places.WORKSPACE]
    sys.path.insert(_before_packages(), root)


def _explained(
    kind: type[BaseException], error: BaseException, frames: TracebackType | None
) -> None:
    """What is called for an exception that a script of a cell raises: it gets the advice of other runs."""
    failure.explain(error)
    sys.__excepthook__(kind, error, frames)


def _before_packages() -> int:
    """The place behind the standard library and before packages, which a skill's own folders precede."""
    for at, folder in enumerate(sys.path):
        if at and (folder.startswith(places.LAYERS) or folder == places.BATTERIES):
            return at
    return len(sys.path)


def _as_main(file: str, path: str) -> ModuleType:
    """Makes the empty module `__main__` of a script."""
    module = ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins, __file__=file, **_spec_of(file, path))
    _modules["__main__"] = module
    return module


def _spec_of(file: str, path: str) -> dict[str, Any]:
    """What `__main__` says of where it comes from. A script that imports relatively belongs to the package
    of its folder."""
    loader = SourceFileLoader("__main__", file)
    package = path.rpartition("/")[0].replace("/", ".")
    is_package = bool(package) and all(part.isidentifier() for part in package.split("."))
    try:
        is_relative = is_package and _RELATIVE.search(loader.get_data(file)) is not None
    except OSError:  # there is no such file, which the interpreter says
        is_relative = False
    if not is_relative:
        return {"__loader__": loader, "__spec__": None}
    name = f"{package}.{path.rpartition('/')[2].removesuffix('.py')}"
    spec = ModuleSpec(name, loader, origin=file)
    spec.has_location = True
    return {"__loader__": loader, "__spec__": spec, "__package__": package}


def cell(
    skill: str,
    path: str,
    argv: Sequence[str] = (),
    *,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Runs a script as a cell of a session: in a process of its own, so what it leaves are files.

    Raises:
        ScriptExit: It ended with another exit code than 0.
    """
    root = f"{places.SKILLS}/{skill}"
    file = f"{root}/{path}"

    def prepare() -> None:
        _search(root)
        if stdin is None:
            child_state.without_input(remarks.NO_STDIN)
        sys.excepthook = _explained
        _modules["__main__"].__dict__.update(_spec_of(file, path))

    status = child.run_python(
        [file, *argv],
        cwd=places.WORKSPACE,
        env={**_environment, **(env or {})},
        # Without a text it has none: a script asks nobody.
        stdin=_encoded(stdin or ""),
        prepare=prepare,
    )
    if status:
        # As a shell shows an end by a signal.
        code = status if status > 0 else 128 - status
        raise ScriptExit(f"`{path}` ended with exit code {code}")
