"""What the host refuses, as Python exceptions.

Users import these from `runtime`; the host names them by their class names.
"""

from __future__ import annotations


class Refused(RuntimeError):
    """The host refused a request; the message says why."""


class HostCallLimit(Refused):
    """The run has asked the host too often, or moved too many bytes through the door."""


class QuotaExceeded(Refused):
    """A quota of the tenant is used up, such as the room for blobs."""


class PolicyDenied(Refused):
    """The operator's rules forbid what was asked."""


class BlobNotFound(FileNotFoundError):
    """No blob of that id is mounted in this run."""


PUBLIC = (Refused, HostCallLimit, QuotaExceeded, PolicyDenied, BlobNotFound)
for _kind in PUBLIC:
    _kind.__module__ = "runtime"  # tracebacks show the name that users can import

_by_name: dict[str, type[Exception]] = {kind.__name__: kind for kind in PUBLIC}


def refusal(name: str, message: str) -> Exception:
    """Returns the exception called `name`, making its class if it is a new one."""
    kind = _by_name.get(name)
    if kind is None:
        readable = name if name.isidentifier() else "Refused"
        kind = type(readable, (Refused,), {"__module__": "runtime"})
        _by_name[name] = kind
    return kind(message)
