"""Charts of plotly: pages in the place of a browser, and a refusal of pictures.

`show()` writes a page (HTML) into the workspace, where the host keeps it, as natively it opens one in a
browser. So does a figure in the value that a program returns, which has the name of its file then. In a
notebook both display the figure.
"""

from __future__ import annotations

import hashlib
import os
import sys
from typing import TYPE_CHECKING, Any

from _wardian import figures, places

if TYPE_CHECKING:
    from _wardian.conversion import Branch, Converter
    from _wardian.leaves import Leaf
    from _wardian.place import Place

NO_PICTURES = (
    "no browser is there to draw figures of plotly as pictures: fig.write_html(file) and fig.to_html() make a "
    "page, fig.to_json() the data; for PNG, SVG or PDF draw with matplotlib"
)
_PICTURES = frozenset(("png", "jpeg", "jpg", "svg", "pdf", "webp", "sphinx_gallery_png"))

_FILE = "_wardian_page"
"""The attribute of a figure with the digest of its content, and the file that has it."""


def refuse_pictures(module: Any) -> None:
    """Changes the words in which `plotly.io._kaleido` asks for its browser."""
    module.KALEIDO_REQUIRED_MSG = module.PLOTLY_GET_CHROME_ERROR_MSG = NO_PICTURES


def show_as_files(module: Any) -> None:
    """Replaces `plotly.io.show`, which finds neither a browser nor IPython."""
    module.renderers.default = None

    def show(fig: Any, renderer: str | None = None, validate: bool = True, **options: Any) -> None:
        if renderer is not None and not _PICTURES.isdisjoint(str(renderer).split("+")):
            raise RuntimeError(NO_PICTURES)
        figure = fig if hasattr(fig, "to_plotly_json") else _figure_of(fig)
        if not figures.display(figure):
            _page_of(figure, options.get("config"))

    show.__doc__ = "Writes a page with the figure into /workspace; in a notebook, displays it."
    module.show = show


def display_as_page(module: Any) -> None:
    """Lets notebooks ask figures of `plotly.basedatatypes` for their HTML."""

    def refuse(self: Any) -> None:
        raise NotImplementedError("a figure is displayed by its HTML")

    module.BaseFigure._ipython_display_ = refuse


def _figure_of(content: Any) -> Any:
    from plotly.graph_objects import Figure  # type: ignore[import-not-found]

    return Figure(content)


def _page_of(figure: Any, config: Any = None) -> str:
    """The file with a figure as it is now, below the workspace."""
    digest = hashlib.sha256(repr((figure.to_json(), config)).encode()).hexdigest()
    known = getattr(figure, _FILE, None)
    if known is not None and known[0] == digest and os.path.isfile(f"{places.WORKSPACE}/{known[1]}"):
        return str(known[1])
    path = figures.new_path("figure", "html")
    figure.write_html(path, config=config)
    name = path.removeprefix(f"{places.WORKSPACE}/")
    setattr(figure, _FILE, (digest, name))
    return name


def register(leaves: dict[int, Leaf], branches: dict[int, Branch]) -> None:
    """Adds the class of figures, if the program has imported it and values are not displayed."""
    kind = getattr(sys.modules.get("plotly.basedatatypes"), "BaseFigure", None)
    if isinstance(kind, type) and not figures.is_displaying():
        branches[id(kind)] = _returned


def _returned(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    """Returns the path of a page with a figure that the program returns."""
    name = figures.made(lambda: _page_of(value))
    work.notes.add(place, "plotly.Figure", "HTML file" if name else figures.TOO_MANY)
    return name

