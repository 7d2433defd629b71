"""What a cell shows beside its log: objects in rich forms, as a notebook shows them.

An object has forms by its methods, as IPython knows them: `_repr_mimebundle_`, `_repr_html_`,
`_repr_png_` and so on. All forms of one object are a bundle, which the host gets at once. It takes
short texts as they are and makes blobs of pictures and long texts.
"""

from __future__ import annotations

import base64
import binascii
import io
import itertools
import json
import re
import struct
import sys
from collections.abc import Mapping
from typing import Any

from _wardian import door, figures, result
from _wardian.figures import tell, words_of

BUNDLES_MAX = 256
"""Most bundles of one cell, as the host takes them."""

PARTS_MAX = 16
"""Most forms of one object, as the host takes them."""

_NEW = 0xFFFFFFFF
_SHOW, _CLEAR = door.CELL + b"\0", door.CELL + b"\1"

VALUE = "application/vnd.wardian.value+json"
"""The kind of an empty form that marks the value of a cell, if the host wants it whatever it is."""

_METHODS = (
    ("text/html", "_repr_html_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("text/markdown", "_repr_markdown_"),
    ("text/latex", "_repr_latex_"),
    ("application/json", "_repr_json_"),
    ("application/javascript", "_repr_javascript_"),
)
"""Kinds of forms, and the methods that give them."""

_KIND = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+/[a-z0-9!#$%&'*+.^_`|~-]+").fullmatch
_KIND_MAX = 127
_IS_TEXT = re.compile(
    r"text/.*|image/svg\+xml|application/(json|javascript|xml|.*\+json|.*\+xml)"
).fullmatch

_modules = sys.modules
_numbers = itertools.count(1)
_ids: dict[str, int] = {}
_count = 0
_clears_next = False
_is_full = False

Forms = dict[str, Any]
"""The forms of an object by their kinds: `str`, `bytes`, or JSON data."""


class DisplayNotFound(LookupError):
    """Nothing of that id was displayed by this cell."""


DisplayNotFound.__module__ = "runtime"


def begin() -> None:
    """Begins the displays of a cell."""
    global _count, _clears_next, _is_full
    _ids.clear()
    _count = 0
    _clears_next = _is_full = False


def install() -> None:
    """Shows figures and pictures of the program here, which a run would save."""
    figures.show_with(_show_picture)


class DisplayHandle:
    """What `display` returns with a `display_id`: it can show another object in its place."""

    def __init__(self, display_id: str | None = None) -> None:
        self.display_id = display_id or f"display-{next(_numbers)}"

    def display(self, obj: Any, **options: Any) -> None:
        """Displays an object, which `update` replaces from now on."""
        display(obj, display_id=self.display_id, **options)

    def update(self, obj: Any, **options: Any) -> None:
        """Displays an object in the place of the one before."""
        update_display(obj, display_id=self.display_id, **options)

    def __repr__(self) -> str:
        return f"<DisplayHandle display_id={self.display_id}>"


def display(
    *objs: Any,
    include: Any = None,
    exclude: Any = None,
    metadata: Any = None,
    transient: Any = None,
    display_id: Any = None,
    raw: bool = False,
    clear: bool = False,
    **options: Any,
) -> DisplayHandle | None:
    """Shows objects in the richest forms that they have: tables, pictures, formulas.

    `include` and `exclude` choose forms by their MIME types. With `raw`, the objects are dicts of
    such forms. With a `display_id`, `True` or a text, the returned handle can replace the object
    while the cell runs.

    Raises:
        Refused: The host does not take it.
    """
    if clear:
        clear_output()
    handle = None
    if display_id is not None and display_id is not False:
        handle = DisplayHandle(None if display_id is True else str(display_id))
    for value in objs:
        forms = dict(value) if raw else forms_of(value)
        if forms is not None:
            at = _show(_chosen(forms, include, exclude))
            if handle is not None and at is not None:
                _ids[handle.display_id] = at
    return handle


def update_display(obj: Any, *, display_id: Any, raw: bool = False, **options: Any) -> None:
    """Shows an object in the place of another one that this cell has displayed.

    Raises:
        DisplayNotFound: The cell has displayed nothing of that id.
        Refused: The host does not take it.
    """
    at = _ids.get(str(display_id))
    if at is None:
        raise DisplayNotFound(
            f"this cell has displayed nothing with the id {display_id!r}, and what an earlier cell "
            f"has displayed stays as it is: use display(..., display_id={display_id!r})"
        )
    forms = dict(obj) if raw else forms_of(obj)
    if forms is not None:
        _show(_chosen(forms, options.get("include"), options.get("exclude")), at)


def clear_output(wait: bool = False) -> None:
    """Removes what this cell has displayed, with `wait` as soon as it displays something else."""
    global _clears_next, _count, _is_full
    _clears_next = wait
    if not wait:
        door.ask(_CLEAR)
        _ids.clear()
        _count, _is_full = 0, False


def show_value(value: Any, marks: bool = False) -> None:
    """Displays the value of a cell if it has a form that is more than its text; one that is marked as the
    value is displayed as text alone, too."""
    if value is None or not marks and (type(value) in _PLAIN or not _has_rich_form(value)):
        return
    try:
        if _is_figure(value) and figures.is_shown(value):
            return
        forms = forms_of(value)
        if forms is not None and marks:
            _show({VALUE: {}} | forms)
        elif forms is not None and forms.keys() - {"text/plain"}:
            _show(forms)
    except MemoryError:
        raise
    except Exception as error:
        tell(f"the value could not be displayed: {words_of(error)}")


_PLAIN = frozenset((bool, bytes, dict, float, frozenset, int, list, set, str, tuple))


def _has_rich_form(value: Any) -> bool:
    """True for objects with a method for forms, and for figures."""
    names = ("_ipython_display_", "_repr_mimebundle_", *(name for _, name in _METHODS))
    return _is_figure(value) or any(_method(value, name) is not None for name in names)


def show_open_figures() -> None:
    """Displays the figures that are open, and closes them."""
    try:
        found = figures.take_open()
    except MemoryError:
        raise
    except Exception:
        return
    for figure in found:
        try:
            display(figure)
        except MemoryError:
            raise
        except Exception as error:
            tell(f"an open figure could not be displayed: {words_of(error)}")


def _show_picture(value: Any) -> None:
    """Displays a figure or a picture whose `show` the program has called."""
    if not (_is_figure(value) and figures.is_shown(value)):
        display(value)


# The forms of an object.


def forms_of(value: Any) -> Forms | None:
    """The forms of an object, or `None` if it has displayed itself.

    A method that fails is told of, and costs its form alone.
    """
    own = _method(value, "_ipython_display_")
    if own is not None:
        try:
            own()
            return None
        except NotImplementedError:
            pass
    forms: Forms = {"text/plain": _text(value)}
    if _is_figure(value):
        return forms | {"image/png": _drawn(value)}
    bundle = _called(_method(value, "_repr_mimebundle_"), include=None, exclude=None)
    if isinstance(bundle, tuple):
        bundle = bundle[0] if bundle else None
    if isinstance(bundle, Mapping):
        forms.update(bundle)
    for kind, name in _METHODS:
        # One picture is enough.
        if kind not in forms and not (kind == "image/jpeg" and "image/png" in forms):
            form = _called(_method(value, name))
            if isinstance(form, tuple):  # with its metadata
                form = form[0] if form else None
            if form is not None:
                forms[kind] = form
    return forms


def _method(value: Any, name: str) -> Any:
    """A method of an object; none of a class, or of an object that has every attribute."""
    if isinstance(value, type):
        return None
    try:
        if getattr(value, "_there_is_no_such_method_", None) is not None:
            return None
        method = getattr(value, name, None)
    except Exception:
        return None
    return method if callable(method) else None


def _called(method: Any, **arguments: Any) -> Any:
    if method is None:
        return None
    try:
        return method(**arguments)
    except MemoryError:
        raise
    except NotImplementedError:
        return None
    except Exception as error:
        tell(f"{getattr(method, '__qualname__', method)} failed: {words_of(error)}")
        return None


def _text(value: Any) -> str:
    try:
        return str.__str__(repr(value))
    except MemoryError:
        raise
    except Exception as error:
        return f"<{type(value).__name__} whose repr failed: {words_of(error)}>"


def _is_figure(value: Any) -> bool:
    kind = getattr(_modules.get("matplotlib.figure"), "Figure", None)
    return isinstance(kind, type) and isinstance(value, kind)


def _drawn(figure: Any) -> bytes:
    """A figure as a notebook shows it: without the empty room around it."""
    file = io.BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    figures.note_shown(figure)
    return file.getvalue()


def _chosen(forms: Forms, include: Any, exclude: Any) -> Forms:
    if include:
        forms = {kind: form for kind, form in forms.items() if kind in set(include)}
    if exclude:
        forms = {kind: form for kind, form in forms.items() if kind not in set(exclude)}
    return forms


# The bundle for the host.


def _show(forms: Forms, at: int | None = None) -> int | None:
    """Sends a bundle; returns its number, or `None` if there was no room for it."""
    global _clears_next, _count, _is_full
    if _clears_next:
        clear_output()
        at = None
    parts = [part for kind, form in forms.items() if (part := _part(kind, form)) is not None]
    if not parts:
        return None
    if at is None and _count >= BUNDLES_MAX:
        if not _is_full:
            _is_full = True
            tell(f"a cell displays at most {BUNDLES_MAX} objects: the others are left out")
        return None
    head = struct.pack("<IB", _NEW if at is None else at, len(parts[:PARTS_MAX]))
    answer = door.ask(b"".join((_SHOW, head, *parts[:PARTS_MAX])))
    if at is None:
        _count += 1
    return int.from_bytes(answer, "little")


def _as_json(form: Any) -> str:
    """JSON of a form. JSON has no NaN and no infinities: they become null."""
    try:
        return json.dumps(form, default=_text, allow_nan=False)
    except ValueError:
        plain = json.loads(json.dumps(form, default=_text), parse_constant=lambda _: None)
        return json.dumps(plain)


def _part(kind: Any, form: Any) -> bytes | None:
    """One form as the host reads it; `None` for what is none."""
    if not isinstance(kind, str) or form is None:
        return None
    kind = kind.partition(";")[0].strip().lower()
    if len(kind) > _KIND_MAX or not _KIND(kind):
        return None
    is_text = _IS_TEXT(kind) is not None
    if isinstance(form, (bytes, bytearray, memoryview)):
        content = bytes(form)
        if is_text:
            content = result.to_bytes([content.decode("utf-8", "replace")])
    elif isinstance(form, str):
        plain = str.__str__(form)
        content = result.to_bytes([plain]) if is_text else _from_base64(plain)
    elif not is_text:
        return None
    else:
        try:
            content = result.to_bytes([_as_json(form)])
        except (TypeError, ValueError):
            content = result.to_bytes([_text(form)])
    name = kind.encode()
    return struct.pack("<BHI", is_text, len(name), len(content)) + name + content


def _from_base64(text: str) -> bytes:
    """The bytes of a picture, which a bundle has in Base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        try:
            return base64.b64decode("".join(text.split()), validate=True)
        except (binascii.Error, ValueError):
            return result.to_bytes([text])
