"""Changes to packages of the library, made when a program imports them.

Some C modules of packages are not part of this interpreter. They are replaced by modules that use
the host's codecs and matplotlib's FreeType. In other modules a few names are replaced after their
import. The cost for a program that imports none of them is one look-up in a table at each import.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from _wardian import avif, fonts, jpeg, mapping, parquet, pdf, pillow, webp


def _image(module: Any) -> None:
    jpeg.add_codecs(module)
    pillow.advise(module)


_MADE: dict[str, Callable[[dict[str, Any]], None]] = {
    "PIL._imagingcms": pillow.refuse_colours,
    "PIL._imagingft": fonts.fill_module,
    "PIL._webp": webp.fill_module,
    "mmap": mapping.fill_module,
}
"""Modules that are implemented here; the function fills the namespace."""

_CHANGED: dict[str, Callable[[Any], None]] = {
    "PIL.AvifImagePlugin": avif.refuse,
    "PIL.Image": _image,
    "PIL.PdfParser": pdf.read_without_mapping,
    "PIL.WebPImagePlugin": webp.replace_save,
    "pandas.io.parquet": parquet.add_engine,
}
"""Modules that are changed after they have been executed."""


def install() -> None:
    """Inserts the finder before Python's own."""
    sys.meta_path.insert(0, PatchFinder())


class PatchFinder:
    """Finds the modules of the two tables above."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in _MADE:
            return ModuleSpec(name, _Maker(_MADE[name]), origin="<wardian>")
        if name not in _CHANGED:
            return None
        for finder in sys.meta_path:
            if isinstance(finder, PatchFinder):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                spec.loader = _Changer(spec.loader, _CHANGED[name])
                return spec
        return None


class _Maker:
    """Loads a module that is implemented here."""

    def __init__(self, fill: Callable[[dict[str, Any]], None]) -> None:
        self._fill = fill

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self._fill(vars(module))


class _Changer:
    """Restores the loader of a module, loads the module with it, and changes the module."""

    def __init__(self, loader: Any, change: Callable[[Any], None]) -> None:
        self._loader = loader
        self._change = change

    def create_module(self, spec: ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._change(module)
