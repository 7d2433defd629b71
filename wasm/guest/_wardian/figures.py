"""Pictures without a screen: shown, returned and open figures become PNG files in the workspace.

The host keeps pictures that a program leaves there, so the caller gets the figures. That is so for

- `plt.show()`, `Figure.show()` and `Image.show()` of Pillow, where a screen would show them; not for a
  figure that was saved as a picture and has not changed since;
- a figure or a picture in the value that the program returns, which has the name of the file then;
- figures that are still open when a program ends, as in a notebook, unless they were saved before.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from _wardian import places
from _wardian.place import Place, Unfit

if TYPE_CHECKING:
    from _wardian.conversion import Branch, Converter
    from _wardian.leaves import Leaf

MAX_PICTURES = 20
"""Most files that returned and open figures of one run become."""

TOO_MANY = f"null: a run makes {MAX_PICTURES} pictures"
"""The note on a returned figure that has no file."""

_modules = sys.modules
_show: Callable[[Any], None] | None = None
_FILE = "_wardian_file"  # attribute of a figure that has a file: its path below the workspace
_SAVED = "_wardian_saved"  # attribute of a figure that was written anywhere
_SHOWN_MARK = "_wardian_shown"  # attribute of a figure that was shown
_made: list[str] = []
"""The files that returned and open figures have become in this run."""


def patch(bases: Any) -> None:
    """Changes `matplotlib.backend_bases`, and so all backends."""
    bases.FigureManagerBase.pyplot_show = classmethod(_show_all)
    bases.FigureManagerBase.show = _show_one


def patch_figure(module: Any) -> None:
    """Changes `Figure.savefig` of `matplotlib.figure` to remember what was saved, and where."""
    savefig = module.Figure.savefig

    @functools.wraps(savefig)
    def save_and_note(self: Any, fname: Any, *args: Any, **options: Any) -> Any:
        if _show is not None and self.stale:
            setattr(self, _SHOWN_MARK, False)
        saved = savefig(self, fname, *args, **options)
        _note_saved(self, fname)
        return saved

    module.Figure.savefig = save_and_note


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
    if _show is not None:
        return _show(figure)
    name = getattr(figure, _FILE, None)
    is_shown = type(name) is str and name.rpartition(".")[2].lower() in _SHOWN
    if not is_shown or figure.stale or not os.path.isfile(f"{places.WORKSPACE}/{name}"):
        figure.savefig(new_path("figure", "png"), format="png")


def new_path(name: str, ending: str) -> str:
    """The path of a new file in the workspace: `name-1.ending`, or the next number."""
    number = 1
    while os.path.exists(path := f"{places.WORKSPACE}/{name}-{number}.{ending}"):
        number += 1
    return path


def _note_saved(figure: Any, file: Any) -> None:
    """Remembers that a figure was written, and where if that is a picture in the workspace."""
    try:
        setattr(figure, _SAVED, True)
        figure.stale = False  # matplotlib sets it when the figure changes
        if isinstance(file, (str, os.PathLike)):
            path = os.path.abspath(os.fspath(file))
            below = path.removeprefix(f"{places.WORKSPACE}/")
            is_picture = path.rpartition(".")[2].lower() in _PICTURES
            if below != path and is_picture and os.path.isfile(path):
                setattr(figure, _FILE, below)
    except Exception:
        pass  # a program may do with its figures as it likes


_SHOWN = frozenset(("gif", "jpeg", "jpg", "png", "webp"))
_PICTURES = _SHOWN | {"avif", "pdf", "svg"}


def show_picture(self: Any, title: str | None = None) -> None:
    """Replaces `Image.show` of Pillow. A picture that is shown again may have changed."""
    if _show is not None:
        _show(self)
    elif len(_made) >= MAX_PICTURES:
        tell(f"a picture was not saved: a run makes {MAX_PICTURES} pictures; save it with save()")
    else:
        _save_picture(self)


def register(leaves: dict[int, Leaf], branches: dict[int, Branch]) -> None:
    """Adds the classes of figures and pictures of the packages that the program has imported."""
    if _show is not None:  # they are shown, and their text is the value
        return
    for module, name, branch in (
        ("matplotlib.artist", "Artist", _artist),
        ("matplotlib.container", "Container", _container),
        ("seaborn.axisgrid", "Grid", _grid),
        ("PIL.Image", "Image", _picture),
    ):
        kind = getattr(_modules.get(module), name, None)
        if isinstance(kind, type):
            branches[id(kind)] = branch


def _artist(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    """A figure, or what is drawn in one."""
    figure, depth = value, 0
    while (outer := getattr(figure, "figure", None)) not in (None, figure) and depth < 8:
        figure, depth = outer, depth + 1
    if not hasattr(figure, "savefig"):
        raise Unfit(f"{place} is a part of no figure; return the figure that it was drawn in")
    return _figure(work, figure, "matplotlib.Figure", place)


def _container(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    """The bars or the points of one call."""
    for part in tuple.__iter__(value):
        for artist in part if isinstance(part, (list, tuple)) else (part,):
            if getattr(artist, "figure", None) is not None:
                return _artist(work, artist, place, above)
    return work.items(tuple.__iter__(value), place, work.entered(value, place, above))


def _grid(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    return _figure(work, value.figure, "seaborn.Grid", place)


def _figure(work: Converter, figure: Any, source: str, place: Place) -> Any:
    """Returns the path of a figure's file, which is written now unless there is one."""
    name = getattr(figure, _FILE, None)
    is_there = type(name) is str and os.path.isfile(f"{places.WORKSPACE}/{name}")
    if not is_there or figure.stale:
        if len(_made) >= MAX_PICTURES:
            work.notes.add(place, source, TOO_MANY)
            return None
        path = new_path("figure", "png")
        try:
            figure.savefig(path, format="png")
        except MemoryError:
            raise
        except Exception as error:
            raise Unfit(f"{place} is a figure that cannot be drawn ({words_of(error)})") from error
        name = path.removeprefix(f"{places.WORKSPACE}/")
        _made.append(name)
    work.notes.add(place, source, "PNG file" if str(name).lower().endswith(".png") else "file")
    return name


def _picture(work: Converter, value: Any, place: Place, above: tuple[int, ...]) -> Any:
    """A picture of Pillow."""
    name = getattr(value, _FILE, None)
    if type(name) is not str:
        if len(_made) >= MAX_PICTURES:
            work.notes.add(place, "PIL.Image", TOO_MANY)
            return None
        try:
            name = _save_picture(value)
        except MemoryError:
            raise
        except Exception as error:
            raise Unfit(f"{place} is a picture that cannot be saved ({words_of(error)})") from error
        try:
            setattr(value, _FILE, name)
        except Exception:
            pass
    work.notes.add(place, "PIL.Image", "TIFF file" if name.endswith(".tiff") else "PNG file")
    return name


def _save_picture(picture: Any) -> str:
    """Saves a picture of Pillow, and returns the name of its file."""
    path = new_path("image", "tiff" if picture.mode == "F" else "png")
    drawn = picture if picture.mode in _MODES else picture.convert("RGB")
    drawn.save(path)
    name = path.removeprefix(f"{places.WORKSPACE}/")
    _made.append(name)
    return name


_MODES = frozenset(("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16", "F"))


def save_open() -> None:
    """Saves the figures that are still open and were never saved, as a notebook shows them.

    A figure that cannot be drawn does not spoil the run. What was not saved is told on the standard
    error output.
    """
    pyplot: Any = _modules.get("matplotlib.pyplot")
    try:
        figures = [pyplot.figure(number) for number in pyplot.get_fignums()] if pyplot else []
        wanted = [
            figure for figure in figures if not hasattr(figure, _SAVED) and _has_content(figure)
        ]
    except MemoryError:
        raise
    except Exception:
        return
    left = 0
    for figure in wanted:
        if len(_made) >= MAX_PICTURES:
            left += 1
            continue
        path = new_path("figure", "png")
        try:
            figure.savefig(path, format="png")
        except MemoryError:
            raise
        except Exception as error:
            tell(f"an open figure could not be drawn: {words_of(error)}")
        else:
            _made.append(path.removeprefix(f"{places.WORKSPACE}/"))
    if left:
        tell(
            f"{len(wanted)} figures were open at the end of the program, and {left} of them were "
            f"not saved: a run makes {MAX_PICTURES} pictures; save the others with savefig"
        )


def is_displaying() -> bool:
    """True where figures are shown and not saved."""
    return _show is not None


def display(value: Any) -> bool:
    """Displays a figure of another package where figures are shown and not saved. False elsewhere."""
    if _show is None:
        return False
    _show(value)
    return True


def made(write: Callable[[], str]) -> str | None:
    """Returns the file that `write` makes of a returned figure, or None beyond `MAX_PICTURES`."""
    if len(_made) >= MAX_PICTURES:
        return None
    name = write()
    _made.append(name)
    return name


def show_with(show: Callable[[Any], None]) -> None:
    """Shows figures and pictures from now on in the place of saving them to files."""
    global _show
    _show = show


def take_open() -> list[Any]:
    """Closes all figures of `pyplot`, and returns those with content that were not shown since.

    Raises:
        Exception: The program has changed what it takes to look at them.
    """
    pyplot: Any = _modules.get("matplotlib.pyplot")
    if pyplot is None or not pyplot.get_fignums():
        return []
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    pyplot.close("all")
    return [figure for figure in figures if not is_shown(figure) and _has_content(figure)]


def is_shown(figure: Any) -> bool:
    """True if a figure was shown and has not changed since."""
    return getattr(figure, _SHOWN_MARK, False) and not figure.stale


def note_shown(figure: Any) -> None:
    """Remembers that a figure was shown as it is now."""
    setattr(figure, _SHOWN_MARK, True)
    figure.stale = False


def _has_content(figure: Any) -> bool:
    """True if something was drawn: axes alone, as `clear` leaves them, are no picture."""
    own = (figure.texts, figure.lines, figure.patches, figure.images, figure.legends)
    return any(own) or any(
        axes.has_data() or axes.texts or axes.tables or axes.artists or axes.get_title()
        for axes in figure.axes
    )


def tell(words: str) -> None:
    """Tells the caller something on the standard error output."""
    try:
        print(words, file=sys.stderr)
    except Exception:
        pass


def words_of(error: Exception) -> str:
    """An exception in one line, whatever its class is like."""
    try:
        return f"{type(error).__name__}: {' '.join(str(error)[:200].split())}"
    except Exception:
        return type(error).__name__


def forget() -> None:
    """Forgets the pictures of a run."""
    global _show
    _made.clear()
    _show = None
