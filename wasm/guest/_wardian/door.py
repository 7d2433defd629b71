"""The door: the only way out of the sandbox.

A request is one operation byte and a payload; an answer is one status byte (0 done, 1 refused)
and a payload. What the user's code sends through it can only concern its own run: the host
decides on every request, and the run's status is the host's.
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

_DONE = 0

_decoder: Any = json.JSONDecoder()
_parse = _decoder.scan_once  # the bare C scanner: no detection of encodings, no regexes

job: dict[str, Any] = {}
"""The job of this run, once `read_job` has been called."""


def ask(request: bytes) -> bytes:
    """Sends a request and returns the payload of the answer.

    Raises:
        Exception: The host refused; the class carries the name that the host gave.
        OSError: The door is broken.
    """
    answer: bytes = call(request)
    if answer[0] != _DONE:
        _raise_refusal(answer)
    return answer[1:]


def ask_json(request: bytes) -> Any:
    """Sends a request and returns its answer, which is JSON."""
    return _parse(ask(request).decode(), 0)[0]


def read_job() -> dict[str, Any]:
    """Asks the host what to run, and keeps it in `job`."""
    global job
    job = ask_json(JOB)
    return job


def _raise_refusal(answer: bytes) -> None:
    reason = _parse(answer[1:].decode(), 0)[0]
    raise refusal(reason["type"], reason["message"])
