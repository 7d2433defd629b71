"""Codecs of the host: pictures and tables that the interpreter itself cannot read or write.

A request is a header, which is JSON, and bytes; so is its answer. Nothing is kept between two
requests. A refusal of the host is raised as `OSError`, `MemoryError` or `NotImplementedError`.
"""

from __future__ import annotations

import json
from typing import Any

from _host import call
from _wardian.refusals import python_exception

_CODEC = b"\x08"
_DONE = 0

_dump = json.JSONEncoder(separators=(",", ":")).encode
_decoder: Any = json.JSONDecoder()
_parse = _decoder.scan_once


def ask(header: dict[str, Any], *data: Any) -> tuple[Any, memoryview]:
    """Sends a header and bytes to the host's codecs. Returns the header and bytes of the answer."""
    text = _dump(header).encode()
    answer = call(b"".join((_CODEC, len(text).to_bytes(4, "little"), text, *data)))
    if answer[0] != _DONE:
        reason = _parse(answer[1:].decode(), 0)[0]
        raise python_exception(reason["type"], reason["message"])
    end = 5 + int.from_bytes(answer[1:5], "little")
    return _parse(answer[5:end].decode(), 0)[0], memoryview(answer)[end:]
