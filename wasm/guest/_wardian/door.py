"""Host calls: the only way out of the sandbox.

A request is one operation byte and a payload; an answer is one status byte (0 done, 1 refused)
and a payload. The user's code can make requests too, but they affect only its own run: the host
checks every request and decides the run's status.
"""

from __future__ import annotations

import json
from typing import Any

from _host import call
from _wardian.refusals import refusal

JOB = b"\x01"
RETURNED = "\x02"
RAISED = b"\x03"
LOG = b"\x04"
WRITE_BLOB = b"\x05"
WRITE_BLOB_FILE = b"\x06"
PROGRESS = b"\x0a"
CONVERTED = b"\x0b"
NAME_BLOB = b"\x0c"
CELL = b"\x0e"

_DONE = 0

_decoder: Any = json.JSONDecoder()
_parse = _decoder.scan_once  # the bare C scanner: no detection of encodings, no regexes

job: dict[str, Any] = {}
"""The job of this run, once `read_job` has been called."""


def ask(request: bytes) -> bytes:
    """Sends a request and returns the payload of the answer.

    Raises:
        Exception: The host refused; the class carries the name that the host gave.
        OSError: The host call failed.
    """
    answer: bytes = call(request)
    if answer[0] != _DONE:
        _raise_refusal(answer)
    return answer[1:]


def ask_json(request: bytes) -> Any:
    """Sends a request and returns its answer, which is JSON."""
    return _parse(ask(request).decode(), 0)[0]


def read_job() -> dict[str, Any]:
    """Fetches the job from the host, and keeps it in `job`."""
    global job
    job = ask_json(JOB)
    return job


def _raise_refusal(answer: bytes) -> None:
    reason = _parse(answer[1:].decode(), 0)[0]
    raise refusal(reason["type"], reason["message"])
