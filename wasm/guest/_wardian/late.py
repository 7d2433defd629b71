"""Packages that look for an optional one while they are imported, and find it later.

Images are made without the batteries, so that they do not depend on them. A package in an image has
therefore looked for batteries in vain, and would go on without them although the program has them:
pandas would not know the time zones of pytz. Natively, and where the package is imported by the
program itself, it finds them. So each such look-up is made true here, at the first use of the
battery: what an image is for is to be fast, and an import of `chardet` for every run is not.

`missed` has all look-ups that failed while the image was built. A test compares them with the
batteries: one that is found in runs and not in `REPAIRED` fails it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from datetime import tzinfo
from types import ModuleType
from typing import Any

from _wardian import import_hooks

missed: dict[str, set[str]] = {}
"""Modules that were not found while the image was built, each with those that looked for them."""

_modules = sys.modules
_getframe = sys._getframe


class _Late(ModuleType):
    """Stands for a module until it is used. `without` is used where the module does not exist."""

    def __init__(self, name: str, without: Any) -> None:
        super().__init__(name)
        self.__dict__["_without"] = without

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            found = importlib.import_module(self.__name__)
        except ImportError:
            found = self.__dict__["_without"]
        return getattr(found, name)


class _NoWidths:
    """What tabulate does where `wcwidth` is missing: each character is one column wide."""

    wcswidth = staticmethod(len)


# pandas and pytz


class _Utc(tzinfo):
    """Becomes the only object of its kind in pytz, which pandas compares with by identity."""


_utc = _Utc()
_USERS_OF_PYTZ = (
    "pandas._libs.tslibs.timestamps",
    "pandas._libs.tslibs.timezones",
    "pandas._libs.tslibs.tzconversion",
    "pandas.io._util",
)


def offer_pytz() -> None:
    """Lets pandas find a `pytz` while the image is built; `_settle_pandas` takes it away again."""
    module: Any = ModuleType("pytz")
    module.__version__, module.UTC, module.utc = "9999.1", _utc, _utc
    _modules["pytz"] = module


def _settle_pandas(module: Any) -> None:
    offered = _modules.get("pytz")
    if offered is None or getattr(offered, "UTC", None) is not _utc or type(_utc) is not _Utc:
        return
    del _modules["pytz"]
    for user in list(_modules.values()):
        names = getattr(user, "__dict__", {})
        if names.get("pytz") is offered:
            if names["__name__"] not in _USERS_OF_PYTZ:
                raise RuntimeError(f"{names['__name__']} looks for pytz: add it to `late`")
            names["pytz"] = None
    if _modules["pandas._libs.tslibs.timezones"].pytz is not None:
        raise RuntimeError("pandas looks for pytz in another way")


def _tell_pandas(module: Any) -> None:
    """Gives pandas the module that a program has imported."""
    has_waited = False
    for name in _USERS_OF_PYTZ:
        user = _modules.get(name)
        if user is not None and vars(user).get("pytz", module) is None:
            user.pytz = module  # type: ignore[attr-defined]
            has_waited = True
    if has_waited and type(_utc) is _Utc:
        _utc.__class__ = type(module.UTC)
        vars(_utc).update(vars(module.UTC))
        module.UTC = module.utc = _utc


# Tables and text


def _await_wcwidth(module: Any) -> None:
    if module.wcwidth is None:
        module.wcwidth = _Late("wcwidth", _NoWidths)
        module.WIDE_CHARS_MODE = True


def _tell_tabulate(module: Any) -> None:
    user = _modules.get("tabulate")  # which may be about to import it
    if user is not None and isinstance(vars(user).get("wcwidth"), _Late):
        user.wcwidth = module  # type: ignore[attr-defined]


def _await_chardet(module: Any) -> None:
    found = module.chardet_module
    if found is None or found.__name__ == "charset_normalizer":
        module.chardet_module = _Late("chardet", found)


def _tell_bs4(module: Any) -> None:
    user = _modules.get("bs4.dammit")
    if user is not None and isinstance(vars(user).get("chardet_module"), _Late):
        user.chardet_module = module  # type: ignore[attr-defined]


# Progress of scikit-learn


def _await_rich(module: Any) -> None:
    """Defines the classes that are made with `rich` when a progress bar is first shown."""
    if "_Progress" in vars(module):
        return
    check = module.check_rich_support

    def check_and_define(caller: str) -> None:
        check(caller)
        importlib.reload(module)

    module.check_rich_support = check_and_define


REPAIRED = frozenset({"chardet", "pytz", "rich", "wcwidth"})
"""Batteries that packages of images look for while they are imported."""

_CHANGED: dict[str, Callable[[Any], None]] = {
    "bs4.dammit": _await_chardet,
    "chardet": _tell_bs4,
    "pandas": _settle_pandas,
    "pytz": _tell_pandas,
    "sklearn.callback._progressbar": _await_rich,
    "tabulate": _await_wcwidth,
    "wcwidth": _tell_tabulate,
}


class Missed:
    """A finder that finds nothing and notes for what it was asked."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Notes a module that no other finder has found."""
        if path is None:
            missed.setdefault(name, set()).add(_importing_module())


def _importing_module() -> str:
    frame: Any = _getframe(2)
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if not name.startswith(("importlib", "_frozen_importlib", "_wardian")):
            return name
        frame = frame.f_back
    return ""


def begin_notes() -> None:
    """Notes look-ups in vain from now on, also those for which there is advice."""
    sys.meta_path.insert(len(sys.meta_path) - 1, Missed())  # type: ignore[arg-type]


def end_notes() -> None:
    """Ends the notes: the image is built."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder) is not Missed]


def install() -> None:
    """Changes these modules when they are imported."""
    import_hooks.HOOKS.change(_CHANGED)
