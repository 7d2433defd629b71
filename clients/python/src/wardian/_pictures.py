"""The pictures in answers, as models see them. Does no I/O."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

KINDS = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The image types that models accept."""
MOST = 4
"""Maximum number of pictures in an answer."""
MOST_LOOKED_AT = 16
"""Maximum number of an answer's blobs that are examined."""
LARGEST = 1 << 20
"""Maximum size of a picture, in bytes."""
LARGEST_TOGETHER = 2 << 20
"""Maximum size of all pictures in an answer, in bytes."""


@dataclass(frozen=True)
class Picture:
    """A picture in an answer."""

    blob_id: str
    name: str
    """The path of the file, or the id of the blob."""
    kind: str
    """MIME type."""
    data: bytes = field(repr=False)

    @property
    def base64(self) -> str:
        """The bytes in base64."""
        return base64.b64encode(self.data).decode()

    @property
    def data_url(self) -> str:
        """The bytes as a `data:` URL."""
        return f"data:{self.kind};base64,{self.base64}"


def candidates(
    method: str, params: Mapping[str, Any], result: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Id and name of each blob of an answer that may be a picture."""
    found: dict[str, str] = {}
    if method == "read_blob":
        if result.get("kind") in KINDS:
            found[str(params.get("blob_id"))] = str(result.get("name") or params.get("blob_id"))
    for file in cast("list[dict[str, Any]]", result.get("files") or []):
        if file.get("blob_id") and file.get("kind") in KINDS:
            found.setdefault(file["blob_id"], file["path"])
    for blob_id in cast("list[str]", result.get("output_blobs") or []):
        found.setdefault(blob_id, blob_id)
    yield from list(found.items())[:MOST_LOOKED_AT]


def kind_of(data: bytes) -> str | None:
    """The kind of a picture, from its first bytes. A blob with the kind of a picture may not be
    one, and a picture that a model cannot read breaks the whole conversation."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return None
