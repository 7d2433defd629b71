"""Types of files by their content for `markitdown`, in the place of the model of `magika`.

The model of that package runs in native code. The formats that markitdown converts begin with fixed
bytes, are archives with known members, or are texts with a clear form; nothing else is guessed.
"""

from __future__ import annotations

import csv
import io
import json
import types
import zipfile
from typing import Any, BinaryIO

_HEAD = 1 << 16
"""How many bytes at the beginning of a file are looked at. Archives are read from their end, too."""

_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"

_TYPES: dict[str, tuple[str, tuple[str, ...], bool]] = {
    "bmp": ("image/bmp", ("bmp",), False),
    "bzip": ("application/x-bzip2", ("bz2", "tbz2"), False),
    "csv": ("text/csv", ("csv",), True),
    "doc": ("application/msword", ("doc",), False),
    "docx": (f"{_OFFICE}.wordprocessingml.document", ("docx", "docm"), False),
    "empty": ("inode/x-empty", (), False),
    "epub": ("application/epub+zip", ("epub",), False),
    "flac": ("audio/flac", ("flac",), False),
    "gif": ("image/gif", ("gif",), False),
    "gzip": ("application/gzip", ("gz", "tgz"), False),
    "html": ("text/html", ("html", "htm", "xhtml"), True),
    "ipynb": ("application/json", ("ipynb",), True),
    "jpeg": ("image/jpeg", ("jpg", "jpeg"), False),
    "json": ("application/json", ("json",), True),
    "mp3": ("audio/mpeg", ("mp3",), False),
    "mp4": ("video/mp4", ("mp4",), False),
    "odp": (f"{_OPEN}.presentation", ("odp",), False),
    "ods": (f"{_OPEN}.spreadsheet", ("ods",), False),
    "odt": (f"{_OPEN}.text", ("odt",), False),
    "ogg": ("audio/ogg", ("ogg",), False),
    "outlook": ("application/vnd.ms-outlook", (), False),
    "pdf": ("application/pdf", ("pdf",), False),
    "png": ("image/png", ("png",), False),
    "ppt": ("application/vnd.ms-powerpoint", ("ppt",), False),
    "pptx": (f"{_OFFICE}.presentationml.presentation", ("pptx", "pptm"), False),
    "rtf": ("text/rtf", ("rtf",), True),
    "sevenzip": ("application/x-7z-compressed", ("7z",), False),
    "svg": ("image/svg+xml", ("svg",), True),
    "tiff": ("image/tiff", ("tiff", "tif"), False),
    "txt": ("text/plain", ("txt",), True),
    "unknown": ("application/octet-stream", (), False),
    "wav": ("audio/x-wav", ("wav",), False),
    "webp": ("image/webp", ("webp",), False),
    "xls": ("application/vnd.ms-excel", ("xls",), False),
    "xlsx": (f"{_OFFICE}.spreadsheetml.sheet", ("xlsx", "xlsm"), False),
    "xml": ("text/xml", ("xml",), True),
    "zip": ("application/zip", ("zip",), False),
}
"""MIME type, usual endings, and whether it is text; the labels are those of magika."""

_BEGINNINGS = (
    (b"%PDF-", "pdf"), (b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF87a", "gif"),
    (b"GIF89a", "gif"), (b"II*\0", "tiff"), (b"MM\0*", "tiff"), (b"{\\rtf", "rtf"), (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip"), (b"7z\xbc\xaf\x27\x1c", "sevenzip"), (b"OggS", "ogg"), (b"fLaC", "flac"), (b"ID3", "mp3"),
    (b"\xff\xfb", "mp3"),
)  # fmt: skip
_MEMBERS = (("word/", "docx"), ("xl/", "xlsx"), ("ppt/", "pptx"))
_STREAMS = (
    ("WordDocument", "doc"), ("Workbook", "xls"), ("Book", "xls"), ("PowerPoint Document", "ppt"),
    ("__properties_version1.0", "outlook"),
)  # fmt: skip


def label_of(stream: BinaryIO) -> str:
    """The label of a file's type, `unknown` if it is none of those that are known."""
    stream.seek(0)
    head = stream.read(_HEAD)
    if not head:
        return "empty"
    for beginning, label in _BEGINNINGS:
        if head.startswith(beginning):
            return label
    if head[:4] == b"RIFF":
        return {b"WAVE": "wav", b"WEBP": "webp"}.get(head[8:12], "unknown")
    if head[4:8] == b"ftyp":
        return "mp4"
    if head[:2] == b"BM" and head[6:10] == b"\0\0\0\0":
        return "bmp"
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return _archive(stream)
    if head[:8] == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        return _compound(stream)
    return _text(head, is_whole=len(head) < _HEAD)


def _archive(stream: BinaryIO) -> str:
    """What is in a ZIP archive: a document, or files."""
    try:
        with zipfile.ZipFile(stream) as archive:
            names = archive.namelist()
            if names and names[0] == "mimetype" and archive.getinfo("mimetype").file_size < 100:
                kind = archive.read("mimetype").decode("ascii", "replace").strip()
                found = [label for label, about in _TYPES.items() if about[0] == kind]
                return found[0] if found else "zip"
            if "[Content_Types].xml" in names:
                for folder, label in _MEMBERS:
                    if any(name.startswith(folder) for name in names):
                        return label
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError):
        pass
    return "zip"


def _compound(stream: BinaryIO) -> str:
    """What is in a file of the older form of Microsoft Office."""
    import olefile

    try:
        stream.seek(0)
        with olefile.OleFileIO(stream) as found:
            for name, label in _STREAMS:
                if found.exists(name):
                    return label
    except OSError:  # as olefile says that a file is damaged
        pass
    return "unknown"


def _text(head: bytes, is_whole: bool) -> str:
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = head.decode(encoding)
    except UnicodeDecodeError as error:
        if not is_whole and len(head) - error.start < 4:  # a character that is cut
            text = head[: error.start].decode(encoding)
        elif b"\0" in head:
            return "unknown"
        else:
            text = head.decode("latin-1")
    if "\0" in text:
        return "unknown"
    begun = text.lstrip()
    low = begun[:1000].lower()
    if low.startswith(("<!doctype html", "<html")) or "<html" in low and low.startswith("<"):
        return "html"
    if low.startswith("<svg") or low.startswith("<?xml") and "<svg" in low:
        return "svg"
    if low.startswith("<?xml"):
        return "xml"
    if begun[:1] in ("{", "[") and (kind := _json(text, is_whole)):
        return kind
    return "csv" if _is_table(text) else "txt"


def _json(text: str, is_whole: bool) -> str | None:
    if is_whole:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return "ipynb" if isinstance(value, dict) and "nbformat" in value else "json"
    return "ipynb" if '"nbformat"' in text or '"cell_type"' in text else "json"


def _is_table(text: str) -> bool:
    """True if the first lines have the same number of fields, and more than one."""
    rows = []
    try:
        for row in csv.reader(io.StringIO(text), strict=True):
            rows.append(row)
            if len(rows) == 20:
                break
    except csv.Error:
        return False
    rows = [row for row in rows if row]
    widths = {len(row) for row in rows}
    # Prose has commas as well, followed by a space.
    has_prose = any(field.startswith(" ") for row in rows for field in row[1:])
    return len(rows) > 1 and len(widths) == 1 and widths.pop() > 1 and not has_prose


class _Magika:
    """As much of `magika.Magika` as markitdown uses."""

    def __init__(self, *args: Any, **named: Any) -> None:
        pass

    def identify_stream(self, stream: BinaryIO) -> Any:
        """Looks at a file that can seek. Its position is restored."""
        position = stream.tell()
        try:
            label = label_of(stream)
        finally:
            stream.seek(position)
        mime_type, extensions, is_text = _TYPES[label]
        output = types.SimpleNamespace(
            label=label, mime_type=mime_type, extensions=list(extensions), is_text=is_text
        )
        return types.SimpleNamespace(
            status="ok", ok=True, prediction=types.SimpleNamespace(output=output), output=output
        )


def fill_module(namespace: dict[str, Any]) -> None:
    """Fills the module `magika`."""
    namespace["Magika"] = _Magika
