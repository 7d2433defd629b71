"""Results of the parts of a run between which its caller answered, as one result. Does no I/O."""

from __future__ import annotations

from typing import Any

from wardian import _wire
from wardian._wire import JsonObject
from wardian.results import RunResult

LONGEST_PREVIEW = 4_096
"""Bytes of what all parts have printed that a result shows, as in the server's list of cells."""


def of_one_run(first: RunResult, second: RunResult, *, is_program: bool) -> RunResult:
    """The result of two parts, one after the other.

    The files of a whole program are all in its last part; a cell lists those that each part has changed.
    """
    one, other = first.raw, second.raw
    whole: JsonObject = {**other}
    whole |= _printed(one, other)
    whole["duration_ms"] = first.duration_ms + second.duration_ms
    whole["memory_peak_bytes"] = max(first.memory_peak_bytes, second.memory_peak_bytes)
    whole["output_blobs"] = list(dict.fromkeys([*first.output_blobs, *second.output_blobs]))
    if first.fuel is not None or second.fuel is not None:
        whole["fuel"] = (first.fuel or 0) + (second.fuel or 0)
    if first.display or second.display:
        whole["display"] = [*_list(one, "display"), *_list(other, "display")]
    if not is_program:
        changed = {file.path for file in second.files}
        earlier = [file.raw for file in first.files if file.path not in changed]
        whole["files"] = [*earlier, *_list(other, "files")]
        if first.files_total is not None or second.files_total is not None:
            # Those that both have changed are counted twice.
            whole["files_total"] = _files_of(first) + _files_of(second)
    return RunResult.read(whole)


def _printed(one: JsonObject, other: JsonObject) -> JsonObject:
    """What both have printed: the beginning, if it is long."""
    text = _wire.text(one, "logs_preview") + _wire.text(other, "logs_preview")
    is_cut = one.get("logs_truncated") is True or other.get("logs_truncated") is True
    encoded = text.encode(errors="replace")
    if len(encoded) > LONGEST_PREVIEW:
        text, is_cut = encoded[:LONGEST_PREVIEW].decode(errors="ignore"), True
    return {"logs_preview": text, "logs_truncated": is_cut}


def _list(raw: JsonObject, name: str) -> list[Any]:
    return [*_wire.as_list(raw.get(name) or [], name)]


def _files_of(result: RunResult) -> int:
    return len(result.files) if result.files_total is None else result.files_total
