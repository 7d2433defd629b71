"""Read the blobs that are mounted in this run, and write new ones.

    text = blobs.read_text(args["sheet_blob"])
    blob_id = blobs.write_text("a,b\\n1,2\\n", kind="text/csv", name="table.csv")

A blob has an id such as `blob:…`, a kind, its MIME type, and perhaps a name. A mounted blob is read by
its id or its name. Every `write_…` returns the id of the new blob, which is listed in the run's result
and can be read at once.
"""

from __future__ import annotations

import builtins
import io
import json
import os
from typing import IO, Any

from _wardian import advice, door, open_files, places
from _wardian.refusals import BlobNotFound
from _wardian.result import to_json

__all__ = [
    "Blob",
    "BlobNotFound",
    "list",
    "open",
    "path",
    "read_bytes",
    "read_json",
    "read_text",
    "write_bytes",
    "write_file",
    "write_json",
    "write_text",
]

_PREFIX = "blob:"
_open_file = io.open
_load_json = json.loads


class Blob(dict[str, Any]):
    """A mounted blob: its `id`, `kind`, `size_bytes` and `name`, as keys and as attributes."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """Identifies the blob: `blob:` and what follows."""
        return self["id"]

    @property
    def kind(self) -> str:
        """The MIME type, such as `text/csv`."""
        return self["kind"]

    @property
    def size_bytes(self) -> int:
        """The length of the content."""
        return self["size_bytes"]

    @property
    def name(self) -> str | None:
        """The name by which the blob can be opened, if it has one."""
        return self.get("name")


def list() -> builtins.list[Blob]:
    """Returns the blobs that the run was started with."""
    return [Blob(blob) for blob in door.job.get("blobs", ())]


def path(blob_id: str | Blob) -> str:
    """Returns the path of a blob as a read-only file, for libraries that want one.

    Raises:
        BlobNotFound: It is not mounted; the message says what is.
    """
    found = _path(blob_id)
    if not os.path.exists(found):
        raise _not_found(blob_id)
    return found


def open(blob_id: str | Blob, mode: str = "rb", encoding: str | None = None) -> IO[Any]:
    """Opens a blob for reading: as bytes (`"rb"`) or as text (`"r"`, UTF-8 unless said otherwise).

    Raises:
        BlobNotFound: It is not mounted; the message says what is.
        ValueError: The mode is for writing.
    """
    if mode not in ("r", "rt", "rb", "br", "tr"):
        raise ValueError(
            f'blobs are opened with mode "rb" or "r", not {mode!r}; '
            "new ones are made with blobs.write_text and its like"
        )
    if "b" not in mode and encoding is None:
        encoding = "utf-8"
    try:
        return _open_file(_path(blob_id), mode, encoding=encoding)
    except FileNotFoundError:
        raise _not_found(blob_id) from None


def read_bytes(blob_id: str | Blob) -> bytes:
    """Returns the content of a blob.

    Raises:
        BlobNotFound: It is not mounted; the message says what is.
    """
    with open(blob_id) as file:
        content: bytes = file.read()
    return content


def read_text(blob_id: str | Blob, encoding: str = "utf-8", errors: str = "strict") -> str:
    """Returns the content of a blob as text, line ends unchanged.

    Raises:
        BlobNotFound: It is not mounted; the message says what is.
        UnicodeDecodeError: It is no text in this encoding.
    """
    return read_bytes(blob_id).decode(encoding, errors)


def read_json(blob_id: str | Blob) -> Any:
    """Returns the value that a blob holds as JSON.

    Raises:
        BlobNotFound: It is not mounted; the message says what is.
        ValueError: It is no JSON.
    """
    return _load_json(read_bytes(blob_id))


def write_text(text: str, kind: str | None = None, name: str | None = None) -> str:
    """Stores a text as a new blob and returns its id. Without a `kind`, the name's ending decides.

    Raises:
        ValueError: The name cannot be that of a file.
        Refused: The host does not take it.
    """
    if not isinstance(text, str):
        raise TypeError(f"write_text takes a str, not {type(text).__name__}")
    return _write(text.encode(), _chosen(kind, name, "text/plain"), name)


def write_bytes(
    data: bytes | bytearray | memoryview, kind: str | None = None, name: str | None = None
) -> str:
    """Stores bytes as a new blob and returns its id. Without a `kind`, the name's ending decides.

    Raises:
        ValueError: The name cannot be that of a file.
        Refused: The host does not take it.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"write_bytes takes bytes, not {type(data).__name__}")
    return _write(data, _chosen(kind, name, _ANY_KIND), name)


def write_json(value: Any, kind: str = "application/json", name: str | None = None) -> str:
    """Stores a value as JSON in a new blob and returns its id.

    Raises:
        TypeError: A part of the value cannot be JSON; the message says which.
        ValueError: The name cannot be that of a file.
        Refused: The host does not take it.
    """
    return _write(to_json(value, "value"), kind, name)


def write_file(
    path: str | os.PathLike[str] | IO[Any], kind: str | None = None, name: str | None = None
) -> str:
    """Stores a file of the workspace as a new blob and returns its id.

    A file that is still open is flushed first, and may be given itself in the place of its path.
    Without a `kind`, the ending of the file's name decides; without a `name`, the blob has the
    file's.

    Raises:
        ValueError: The name cannot be that of a file.
        OSError: There is no such file.
        Refused: The host does not take it.
    """
    if isinstance(path, io.IOBase):
        path = getattr(path, "name", None)  # type: ignore[assignment]
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(
                "write_file takes a file of the workspace; "
                "use write_bytes(stream.getvalue()) or write_text for a stream in memory"
            )
    file = os.path.abspath(os.fspath(path))
    if os.path.isdir(file):
        raise IsADirectoryError(21, "Is a directory", file)
    if name is None:
        usual = os.path.basename(file)
        name = usual if _name_fault(usual) is None else None
    open_files.flush(os.stat(file).st_ino)
    chosen = _chosen(kind, file, _ANY_KIND)
    return _stored(door.WRITE_BLOB_FILE, chosen, file.encode("utf-8", "surrogateescape"), name)


def _chosen(kind: str | None, name: object, usual: str) -> str:
    if kind is not None or not isinstance(name, str):
        return kind if kind is not None else usual
    found = _kind_of(name)
    return usual if found == _ANY_KIND else found


def _write(data: bytes | bytearray | memoryview, kind: str, name: str | None) -> str:
    return _stored(door.WRITE_BLOB, kind, data, name)


def _stored(
    operation: bytes, kind: str, payload: bytes | bytearray | memoryview, name: str | None
) -> str:
    if not isinstance(kind, str):
        raise TypeError(f"kind is a MIME type such as text/csv, not {type(kind).__name__}")
    if name is not None:
        if not isinstance(name, str):
            raise TypeError(f"name is a str such as report.csv, not {type(name).__name__}")
        fault = _name_fault(name)
        if fault is not None:
            raise ValueError(f"name {fault}; it is {name[:80]!r}")
    answer = door.ask_json(_framed(operation, kind, payload))
    blob_id: str = answer["id"]
    if name is not None:
        door.ask(_framed(door.NAME_BLOB, blob_id, name.encode()))
    return blob_id


def _framed(operation: bytes, first: str, rest: bytes | bytearray | memoryview) -> bytes:
    head = first.encode()
    if not 0 < len(head) < 1 << 16:
        raise ValueError("kind must be a MIME type such as text/csv")
    return b"".join((operation, len(head).to_bytes(2, "little"), head, rest))


def _name_fault(name: str) -> str | None:
    """The reason why a text cannot be the name of a blob; the host has the same rules."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return "must be text"
    if not 0 < size <= 255:
        return "must have 1 to 255 bytes"
    if name in (".", "..") or "/" in name or "\\" in name:
        return "must be a file name without folders, such as report.csv"
    if any(_breaks(ord(letter)) for letter in name):
        return "must not have control characters"
    return None


def _breaks(code: int) -> bool:
    """True for letters that end a line or change the order in which a text is shown."""
    is_control = code < 0x20 or 0x7F <= code < 0xA0
    return is_control or 0x2028 <= code <= 0x202E or 0x2066 <= code <= 0x2069


def _path(blob_id: str | Blob) -> str:
    name = blob_id["id"] if isinstance(blob_id, Blob) else blob_id
    if not isinstance(name, str):
        raise TypeError(f"a blob's id is a str such as blob:…, not {type(name).__name__}")
    if not name.startswith(_PREFIX):
        for blob in door.job.get("blobs", ()):
            if blob.get("name") == name:
                return f"{places.BLOBS}/{blob['id']}"
        earlier = f"{places.BLOBS}/{name}"  # one of the names that a blob was given earlier
        if name and "/" not in name and "\0" not in name and os.path.isfile(earlier):
            return earlier
    if not name.startswith(_PREFIX) or "/" in name or "\0" in name:
        raise _not_found(name)
    return f"{places.BLOBS}/{name}"


def _not_found(blob_id: str | Blob) -> BlobNotFound:
    mounted = advice.mounted_blobs()
    text = str(blob_id["id"] if isinstance(blob_id, Blob) else blob_id)[:200]
    if not text.startswith(_PREFIX):
        problem = f"no mounted blob is named `{text}`, and ids start with `{_PREFIX}`"
    else:
        problem = f"the blob `{text}` is not mounted in this run; add it to `input_blobs`"
    return BlobNotFound(f"{problem} (mounted: {mounted})")


_ANY_KIND = "application/octet-stream"

_KINDS = {
    "arrow": "application/vnd.apache.arrow.file",
    "avif": "image/avif",
    "bmp": "image/bmp",
    "css": "text/css",
    "csv": "text/csv",
    "db": "application/vnd.sqlite3",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "eps": "application/postscript",
    "feather": "application/vnd.apache.arrow.file",
    "gif": "image/gif",
    "gz": "application/gzip",
    "htm": "text/html",
    "html": "text/html",
    "ics": "text/calendar",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "js": "text/javascript",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "log": "text/plain",
    "md": "text/markdown",
    "mp3": "audio/mpeg",
    "npy": "application/x-npy",
    "npz": "application/zip",
    "parquet": "application/vnd.apache.parquet",
    "pdf": "application/pdf",
    "png": "image/png",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "ps": "application/postscript",
    "py": "text/x-python",
    "sqlite": "application/vnd.sqlite3",
    "svg": "image/svg+xml",
    "tar": "application/x-tar",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "toml": "application/toml",
    "tsv": "text/tab-separated-values",
    "txt": "text/plain",
    "wav": "audio/wav",
    "webp": "image/webp",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "zip": "application/zip",
}
"""MIME types by the endings of names: those that programs write most."""


def _kind_of(name: str) -> str:
    ending = name.rpartition("/")[2].rpartition(".")[2].lower()
    return _KINDS.get(ending, _ANY_KIND)


def __dir__() -> builtins.list[str]:
    """The public names alone: what is not among them is no help to callers."""
    return builtins.sorted(__all__)
