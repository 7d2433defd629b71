"""Helpers for the code that runs here: `from runtime import blobs, http, log, progress, run, secrets, tools`.

- `blobs`: read the blobs that are mounted, write new ones.
- `http`: requests to the hosts that a skill's manifest names.
- `log`: messages for the run's log.
- `progress(done, total, message)`: tells a caller that reads along how far the program is.
- `run`: what this run is.
- `secrets`: the secrets that a skill's manifest declares.
- `tools`: in cells of a session, the tools that the call has declared.

What the host refuses arrives as an exception: `HostCallLimit`, `QuotaExceeded` and `PolicyDenied`
are all `Refused`. A blob that is not mounted is a `BlobNotFound`, a secret that is not declared a
`SecretNotDeclared`.
"""

from __future__ import annotations

from _wardian.progress import progress
from _wardian.refusals import (
    BlobNotFound,
    HostCallLimit,
    PolicyDenied,
    QuotaExceeded,
    Refused,
    SecretNotDeclared,
)
from runtime import blobs, http, log, run, secrets, tools

__all__ = [
    "BlobNotFound",
    "HostCallLimit",
    "PolicyDenied",
    "QuotaExceeded",
    "Refused",
    "SecretNotDeclared",
    "blobs",
    "http",
    "log",
    "progress",
    "run",
    "secrets",
    "tools",
]


def __dir__() -> list[str]:
    """The public names alone: what is not among them is no help to callers."""
    return sorted(__all__)
