"""`plt.show()` without a screen: every open figure becomes a PNG file in the workspace.

The host keeps pictures that a program leaves there, so the caller gets the figures.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from _wardian import places


def patch(bases: Any) -> None:
    """Changes `matplotlib.backend_bases`, and so all backends."""
    bases.FigureManagerBase.pyplot_show = classmethod(_show_all)
    bases.FigureManagerBase.show = _show_one


def patch_package(package: Any) -> None:
    """Changes `matplotlib.use`: backends that need a screen become the one that draws files."""
    use = package.use

    def use_without_screen(backend: Any, **options: Any) -> None:
        wanted = str(backend).lower()
        use("agg" if wanted in _WITH_SCREEN else backend, **options)

    package.use = use_without_screen


_WITH_SCREEN = frozenset(
    f"{kit}{how}"
    for kit in ("tk", "qt", "qt4", "qt5", "gtk3", "gtk4", "wx", "macosx", "web", "nb")
    for how in ("agg", "cairo", "")
)


def _show_all(cls: object, *, block: bool | None = None) -> None:
    """Replaces `plt.show`: saves the figures, and closes them like windows."""
    pyplot: Any = sys.modules["matplotlib.pyplot"]
    for number in pyplot.get_fignums():
        _save(pyplot.figure(number))
    pyplot.close("all")


def _show_one(self: Any) -> None:
    """Replaces `Figure.show`."""
    _save(self.canvas.figure)


def _save(figure: Any) -> None:
    number = 1
    while os.path.exists(path := f"{places.WORKSPACE}/figure-{number}.png"):
        number += 1
    figure.savefig(path, format="png")
