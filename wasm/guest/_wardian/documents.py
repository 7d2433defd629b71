"""Changes to the batteries for documents, pictures and charts, made when a program imports them.

Some of them need native code for a part of what they do. What has a working replacement gets it, and
the rest says what to use instead.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

from _wardian import charts, ciphers, file_types
from _wardian.import_hooks import Change, Fill

_NO_PAGES = (
    "pages cannot be drawn here: extract_text(), extract_tables() and the objects of a page work without; "
    "draw what you have found with matplotlib or PIL"
)
_NO_VIDEO = "no video codec is there: write the frames as GIF, with .gif as the ending; PIL and imageio read GIF, too"
_VIDEOS = (".avi", ".h264", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm", ".wmv")


def _fill_pdfium(namespace: dict[str, Any]) -> None:
    """Fills `pypdfium2`, which draws the pages of PDF files in native code."""

    class PdfiumError(RuntimeError):
        """An error of the library."""

    def refuse(*args: Any, **named: Any) -> Any:
        raise NotImplementedError(_NO_PAGES)

    namespace["PdfiumError"] = PdfiumError
    namespace["PdfDocument"] = refuse


def _fill_shared(namespace: dict[str, Any]) -> None:
    """Fills what `gymnasium` imports of `multiprocessing` to start other processes, which it cannot."""
    for name in ("Connection", "SynchronizedArray"):
        namespace[name] = type(name, (), {})


def _advise_video(module: Any) -> None:
    """Lets `imageio` say what to use where it would say how to install a codec."""
    module.imopen = _without_installing(module.imopen)


def _without_installing(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(uri: Any, *args: Any, **named: Any) -> Any:
        if named.get("plugin") is None and isinstance(uri, (str, os.PathLike)):
            path = os.fspath(uri)
            if path.lower().endswith(_VIDEOS):
                kind = ValueError if named.get("legacy_mode") else OSError
                raise kind(f"`{path}` cannot be opened; {_NO_VIDEO}")
        try:
            return function(uri, *args, **named)
        except (ImportError, OSError, ValueError) as error:
            text = str(error.args[0]) if len(error.args) == 1 else ""
            if "pip install" not in text:
                raise
            said = text.partition("\nBased on the extension")[0].partition(" Use `pip install")[0].rstrip(".")
            is_video = "ffmpeg" in text.lower() or "pyav" in text.lower()
            advice = _NO_VIDEO if is_video else "other formats: PNG, JPEG, GIF, WebP, BMP and TIFF"
            raise type(error)(f"{said}; {advice}") from None

    return called


_SHARED: Mapping[str, Fill] = {
    f"multiprocessing.{name}": _fill_shared for name in ("connection", "sharedctypes", "synchronize")
}

LENT: Mapping[str, Mapping[str, Fill]] = {
    "gymnasium.vector.async_vector_env": _SHARED,
    "gymnasium.vector.utils.shared_memory": _SHARED,
    "markitdown._markitdown": {"magika": file_types.fill_module},
    "pdfminer.pdfdocument": {
        "cryptography.hazmat.backends": ciphers.fill_backends,
        "cryptography.hazmat.primitives.ciphers": ciphers.fill_ciphers,
    },
    "pdfplumber.display": {"pypdfium2": _fill_pdfium},
}
"""Modules that single modules find while they are loaded, and nobody else."""

CHANGED: Mapping[str, Change] = {
    "imageio.core.imopen": _advise_video,
    "plotly.basedatatypes": charts.display_as_page,
    "plotly.io._kaleido": charts.refuse_pictures,
    "plotly.io._renderers": charts.show_as_files,
}
"""Modules that are changed after they have been executed."""
