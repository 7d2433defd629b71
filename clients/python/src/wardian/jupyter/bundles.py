"""What a cell displayed, and its value, as Jupyter's bundles of MIME types."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

from wardian import _wire
from wardian.jupyter.asides import TEXT_MAX
from wardian.results import Display, DisplayPart

Bundle = dict[str, Any]
"""The forms of an object: text, JSON data, or base64 of anything else."""

Read = Callable[[str], bytes]
"""Returns the content of a blob."""

PLAIN = "text/plain"

_is_json = re.compile(r"application/(?:[\w.+-]+\+)?json").fullmatch
_is_text = re.compile(r"text/.*|image/svg\+xml|application/(?:javascript|xml|.*\+xml)").fullmatch


def bundle_of(display: Display, read: Read) -> Bundle:
    """The bundle of an object that a cell displayed. Blobs are downloaded."""
    return {kind: _form(kind, part, read) for kind, part in display.items()}


def _form(kind: str, part: DisplayPart, read: Read) -> Any:
    content = read(part.blob) if part.text is None and part.blob is not None else None
    if not (_is_json(kind) or _is_text(kind)):
        data = content if content is not None else (part.text or "").encode()
        return base64.b64encode(data).decode()
    text = (part.text or "") if content is None else content.decode(errors="replace")
    if not _is_json(kind):
        return text
    try:
        return json.loads(text)
    except ValueError:
        # A program chose the content. Jupyter takes a string for JSON data, too.
        return text


def place_of_value(bundles: list[Bundle], text: str | None) -> int | None:
    """Which bundle is the value of the cell, if it has richer forms than its text.

    The server displays such a value after all other objects except for figures. `text` is the text
    of the value, perhaps truncated; without it, the last bundle with a rich form is taken.
    """
    for place in reversed(range(len(bundles))):
        bundle = bundles[place]
        plain = str(bundle.get(PLAIN, ""))
        if len(bundle) > 1 and (text is None or plain[:TEXT_MAX] == text[:TEXT_MAX]):
            return place
    return None


def json_text(output: _wire.JsonObject | None) -> str:
    """The output of a cell as Python would write it, if the value itself cannot be asked for."""
    if output is not None and output.keys() == {"result"}:
        return repr(output["result"])
    return repr(output)
