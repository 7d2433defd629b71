"""Helpers for the code that runs here: `from runtime import blobs, http, log, run`.

- `blobs`: read the blobs that are mounted, write new ones.
- `http`: requests to the hosts that a skill's manifest names.
- `log`: messages for the run's log.
- `run`: what this run is.

What the host refuses arrives as an exception: `HostCallLimit`, `QuotaExceeded` and `PolicyDenied`
are all `Refused`. A blob that is not mounted is a `BlobNotFound`.
"""

from __future__ import annotations

from _wardian.refusals import BlobNotFound, HostCallLimit, PolicyDenied, QuotaExceeded, Refused
from runtime import blobs, http, log, run

__all__ = [
    "BlobNotFound",
    "HostCallLimit",
    "PolicyDenied",
    "QuotaExceeded",
    "Refused",
    "blobs",
    "http",
    "log",
    "run",
]


def __dir__() -> list[str]:
    """The public names alone: what is not among them is no help to callers."""
    return sorted(__all__)
