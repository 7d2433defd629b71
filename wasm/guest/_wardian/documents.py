"""Changes to the batteries for documents, pictures and charts, made when a program imports them.

Some of them need native code for a part of what they do. What has a working replacement gets it, and
the rest says what to use instead.
"""

from __future__ import annotations

import functools
import os
import sys
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
    module.imopen = _without_installing(_while_choosing(module.imopen))


_choices: list[Any] = []
"""The plugins that the present calls of `imageio` name; none where it chooses one by the name of the file."""


def _while_choosing(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(uri: Any, *args: Any, **named: Any) -> Any:
        _choices.append(named.get("plugin"))
        try:
            return function(uri, *args, **named)
        finally:
            _choices.pop()

    return called


def _write_dicom_alone(module: Any) -> None:
    """Lets the plugin for DICOM write files that are named so. It takes every name, and imageio asks it before
    it says that it knows no writer for an ending."""
    begin = module.PydicomPlugin.__init__

    @functools.wraps(begin)
    def __init__(self: Any, request: Any, **named: Any) -> None:
        is_chosen = bool(_choices) and _choices[-1] is None
        if is_chosen and request.mode.io_mode == module.IOMode.write and not _is_dicom(request.extension):
            super(module.PydicomPlugin, self).__init__(request)
            self._frames, self._flushed = [], True  # it is closed like any other
            raise module.InitializationError("the name is none of a DICOM file")
        begin(self, request, **named)

    module.PydicomPlugin.__init__ = __init__


def _is_dicom(extension: Any) -> bool:
    known = sys.modules["imageio.config.extensions"].known_extensions
    return any("pydicom" in one.priority for one in known.get(extension, ()))


def _without_ctypes(module: Any) -> None:
    """Lets plugins that call C libraries be missing, as imageio expects of what is not installed."""
    for name in ("plugin_class", "format"):
        setattr(module.PluginConfig, name, property(_imported(getattr(module.PluginConfig, name).fget)))


def _imported(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(function)
    def called(config: Any) -> Any:
        try:
            return function(config)
        except OSError as error:
            raise ImportError(f"the plugin {config.name} cannot be used: {error}") from error

    return called


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
            is_video = "ffmpeg" in text.lower() or "`pyav`" in text  # pyav opens pictures, too
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
    "pypdf._crypt_providers._cryptography": ciphers.OF_PYPDF,
    "pdfplumber.display": {"pypdfium2": _fill_pdfium},
}
"""Modules that single modules find while they are loaded, and nobody else."""

CHANGED: Mapping[str, Change] = {
    "imageio.config.plugins": _without_ctypes,
    "imageio.core.imopen": _advise_video,
    "imageio.plugins.pydicom": _write_dicom_alone,
    "plotly.basedatatypes": charts.display_as_page,
    "plotly.io._kaleido": charts.refuse_pictures,
    "plotly.io._renderers": charts.show_as_files,
}
"""Modules that are changed after they have been executed."""
