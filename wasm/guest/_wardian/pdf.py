"""PDF for Pillow: reads a file instead of mapping it, since a map is a copy (see `mapping`)."""

from __future__ import annotations

from typing import Any


def _content(f: Any) -> Any:
    """The whole content of a file. Its position is restored."""
    if hasattr(f, "getbuffer"):
        return f.getbuffer()
    if hasattr(f, "getvalue"):
        return f.getvalue()
    position = f.tell()
    f.seek(0)
    try:
        return f.read()
    finally:
        f.seek(position)


def read_without_mapping(parser: Any) -> None:
    """Replaces the function of `PIL.PdfParser` that maps a file."""
    parser.PdfParser.get_buf_from_file = staticmethod(_content)
