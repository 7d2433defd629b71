"""The part of IPython that programs import in a session, if IPython itself is not installed.

    from IPython.display import HTML, Image, Markdown, display

The classes hold a content and its kind; `display` has what becomes of them. `get_ipython` returns
nothing to libraries, which take the process for a script then and not for one with widgets. The cells
of a session have a `get_ipython` of their own: see `magics`.
"""

from __future__ import annotations

import html
import json
import os
import sys
from typing import Any

from _wardian import advice, display, import_hooks

_VERSION = (8, 0, 0)

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF8", "gif"),
    (b"%PDF", "pdf"),
)


class DisplayObject:
    """An object that is its content: given itself, by the name of a file, or by an address."""

    _is_binary = False

    def __init__(
        self,
        data: Any = None,
        url: str | None = None,
        filename: str | os.PathLike[str] | None = None,
        metadata: Any = None,
    ) -> None:
        if isinstance(data, os.PathLike):
            data, filename = None, data
        if isinstance(data, str) and url is None and filename is None:
            if data.startswith(("http://", "https://")):
                data, url = None, data
            elif len(data) < 256 and os.path.isfile(data):
                data, filename = None, data
        self.data, self.url, self.metadata = data, url, metadata or {}
        self.filename = None if filename is None else os.fspath(filename)
        if self.filename is not None:
            self.reload()

    def reload(self) -> None:
        """Reads the file again."""
        if self.filename is None:
            return
        if self._is_binary:
            with open(self.filename, "rb") as file:
                self.data = file.read()
        else:
            with open(self.filename, encoding="utf-8") as text:
                self.data = text.read()

    def __repr__(self) -> str:
        return f"<IPython.core.display.{type(self).__name__} object>"


class TextDisplayObject(DisplayObject):
    """A text of some kind."""

    def __init__(self, data: Any = None, *args: Any, **named: Any) -> None:
        super().__init__(data, *args, **named)
        if self.data is None and self.url is not None:
            raise ValueError(f"{type(self).__name__} needs the text itself, and not an address")
        if not isinstance(self.data, (str, type(None))):
            raise TypeError(f"{type(self).__name__} expects text, not {type(self.data).__name__}")


class Pretty(TextDisplayObject):
    """Plain text."""

    def __repr__(self) -> str:
        return self.data or ""


class HTML(TextDisplayObject):
    """HTML."""

    def _repr_html_(self) -> Any:
        return self.data

    def __html__(self) -> Any:
        return self.data


class Markdown(TextDisplayObject):
    """Markdown."""

    def _repr_markdown_(self) -> Any:
        return self.data


class Latex(TextDisplayObject):
    """LaTeX."""

    def _repr_latex_(self) -> Any:
        return self.data


class Math(TextDisplayObject):
    """A formula in LaTeX, without the signs around it."""

    def _repr_latex_(self) -> str:
        return "$\\displaystyle %s$" % (self.data or "").strip("$")


class SVG(TextDisplayObject):
    """A drawing in SVG."""

    def _repr_svg_(self) -> Any:
        return self.data


class Javascript(TextDisplayObject):
    """A script, for those who execute it where it is shown."""

    def _repr_javascript_(self) -> Any:
        return self.data


class JSON(DisplayObject):
    """Data as JSON: a dict, a list, or a text of it."""

    def __init__(self, data: Any = None, *args: Any, **named: Any) -> None:
        self.options = {name: named.pop(name) for name in ("expanded", "root") if name in named}
        super().__init__(data, *args, **named)
        if isinstance(self.data, str):
            self.data = json.loads(self.data)

    def _repr_json_(self) -> Any:
        return self.data


class Image(DisplayObject):
    """A picture: PNG, JPEG, GIF or WebP, or one at an address."""

    _is_binary = True

    def __init__(
        self,
        data: Any = None,
        url: str | None = None,
        filename: str | os.PathLike[str] | None = None,
        format: str | None = None,
        embed: bool | None = None,
        width: int | None = None,
        height: int | None = None,
        retina: bool = False,
        unconfined: bool = False,
        metadata: Any = None,
        alt: str | None = None,
    ) -> None:
        super().__init__(data, url, filename, metadata)
        if self.data is None and self.url is None:
            raise ValueError("No image data found. Expecting filename, url, or data.")
        if self.data is not None and not isinstance(self.data, (bytes, bytearray, memoryview)):
            raise TypeError(f"Image expects bytes or the name of a file, not {self.data!r:.80}")
        self.width, self.height, self.alt = width, height, alt
        self.format = format.lower().replace("jpg", "jpeg") if format else self._found()

    def _found(self) -> str:
        data = bytes(self.data or b"")
        for beginning, name in _SIGNATURES:
            if data.startswith(beginning):
                return name
        return "webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else "png"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        if self.data is not None:
            kind = "application/pdf" if self.format == "pdf" else f"image/{self.format}"
            return {kind: bytes(self.data)}
        given = (("width", self.width), ("height", self.height), ("alt", self.alt))
        more = "".join(f' {name}="{_escaped(value)}"' for name, value in given if value)
        return {"text/html": f'<img src="{_escaped(self.url)}"{more}/>'}


class IFrame:
    """A page within a page, by its address."""

    def __init__(self, src: str, width: Any, height: Any, **params: Any) -> None:
        self.src, self.width, self.height, self.params = src, width, height, params

    def _repr_html_(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.params.items())
        address = f"{self.src}?{query}" if query else self.src
        return (
            f'<iframe width="{_escaped(self.width)}" height="{_escaped(self.height)}" '
            f'src="{_escaped(address)}" frameborder="0" allowfullscreen></iframe>'
        )


def _escaped(value: Any) -> str:
    return html.escape(str(value), quote=True)


def _displaying(make: Any) -> Any:
    """A function such as `display_html`: shows objects in one form alone."""

    def show(*objs: Any, raw: bool = False, **options: Any) -> None:
        for value in objs:
            display.display(make(value) if raw else value, **options)

    return show


def set_matplotlib_formats(*formats: Any, **options: Any) -> None:
    """Accepts the formats of figures: they are shown as PNG."""


def set_matplotlib_close(close: bool = True) -> None:
    """Accepts whether figures are closed: they are."""


_NAMES: dict[str, Any] = {
    "DisplayHandle": display.DisplayHandle,
    "clear_output": display.clear_output,
    "display": display.display,
    "display_html": _displaying(HTML),
    "display_json": _displaying(JSON),
    "display_latex": _displaying(Latex),
    "display_markdown": _displaying(Markdown),
    "display_png": _displaying(Image),
    "display_pretty": _displaying(Pretty),
    "display_svg": _displaying(SVG),
    "publish_display_data": lambda data, *args, **named: display.display(data, raw=True),
    "set_matplotlib_close": set_matplotlib_close,
    "set_matplotlib_formats": set_matplotlib_formats,
    "update_display": display.update_display,
}
for _kind in (
    DisplayObject, TextDisplayObject, Pretty, HTML, Markdown, Latex, Math, SVG, Javascript, JSON,
    Image, IFrame,
):  # fmt: skip
    _kind.__module__ = "IPython.core.display"
    _NAMES[_kind.__name__] = _kind


def _no_shell() -> None:
    """Tells libraries that there is no shell of IPython, and so no widgets."""


def _fill_package(namespace: dict[str, Any]) -> None:
    namespace.update(
        __path__=[],
        __version__=".".join(map(str, _VERSION)),
        version_info=_VERSION,
        get_ipython=_no_shell,
    )


def _fill_core(namespace: dict[str, Any]) -> None:
    namespace["__path__"] = []


def _fill_display(namespace: dict[str, Any]) -> None:
    namespace.update(_NAMES)
    namespace["__all__"] = list(_NAMES)


def _fill_shell(namespace: dict[str, Any]) -> None:
    namespace["get_ipython"] = _no_shell


_FILLS = {
    "IPython": _fill_package,
    "IPython.display": _fill_display,
    "IPython.core": _fill_core,
    "IPython.core.display": _fill_display,
    "IPython.core.display_functions": _fill_display,
    "IPython.core.getipython": _fill_shell,
}

_finder: Any = import_hooks.HookFinder()
_finder.provide(_FILLS)


def install() -> None:
    """Lets programs import these modules, unless there are others of their names."""
    if _finder in sys.meta_path:
        return
    # Packages such as `six` have appended finders of their own behind the one that gives advice.
    kinds = [type(finder) for finder in sys.meta_path]
    last = advice.MissingPackages
    sys.meta_path.insert(kinds.index(last) if last in kinds else len(kinds), _finder)


def remove() -> None:
    """Takes them away again; for rehearsals and tests."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name in _FILLS:
        sys.modules.pop(name, None)
