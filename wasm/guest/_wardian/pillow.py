"""Errors of Pillow about missing C libraries, with advice."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_INSTEAD = {
    "libtiff": "compressed TIFF is not there: leave out `compression`, or use PNG",
    "jpeg2k": "JPEG 2000 is not there: use PNG, JPEG or WebP",
}
COLOURS = (
    "Pillow's colour management is not there (ImageCms, the mode LAB): use "
    "matplotlib.colors, or calculate with numpy"
)


def advise(image: Any) -> None:
    """Adds advice to the errors of `PIL.Image` about a missing encoder or decoder."""
    for name in ("_getencoder", "_getdecoder"):
        setattr(image, name, _advised(getattr(image, name)))


def _advised(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(mode: str, name: str, *args: Any) -> Any:
        try:
            return function(mode, name, *args)
        except OSError as error:
            instead = _INSTEAD.get(name)
            if instead is None:
                raise
            raise OSError(f"{error}; {instead}") from None

    return called


def refuse_colours(namespace: dict[str, Any]) -> None:
    """Replaces `PIL._imagingcms`; `PIL.ImageCms` raises this error when it is used."""
    raise ImportError(COLOURS, name="PIL._imagingcms")
