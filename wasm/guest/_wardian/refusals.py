"""Refusals of the host as Python exceptions.

Users import these from `runtime`; the host names them by their class names.
"""

from __future__ import annotations

import builtins


class Refused(RuntimeError):
    """The host refused a request; the message has the reason."""


class HostCallLimit(Refused):
    """The run has reached its limit on host calls or on their bytes."""


class QuotaExceeded(Refused):
    """A quota of the tenant is used up, such as the space for blobs."""


class PolicyDenied(Refused):
    """The operator's rules forbid the request."""


class BlobNotFound(FileNotFoundError):
    """No blob of that id is mounted in this run."""


class SecretNotDeclared(LookupError):
    """The manifest of the skill does not declare a secret of that name."""


PUBLIC = (Refused, HostCallLimit, QuotaExceeded, PolicyDenied, BlobNotFound, SecretNotDeclared)
for _kind in PUBLIC:
    _kind.__module__ = "runtime"  # tracebacks show the name that users can import

_by_name: dict[str, type[Exception]] = {kind.__name__: kind for kind in PUBLIC}

_EXCEPTIONS: dict[str, type[Exception]] = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type)
    and issubclass(kind, Exception)
    and not issubclass(kind, BaseExceptionGroup)  # a group is not made of a message alone
}
"""Python's own exceptions, as they were before any program could replace them."""


def refusal(name: str, message: str) -> Exception:
    """Returns an exception with the class `name`, which is made if it is new."""
    kind = _by_name.get(name)
    if kind is None:
        kind = _by_name[name] = _new_kind(name)
    return kind(message)


def _new_kind(name: str) -> type[Exception]:
    """Makes a subclass of `Refused`, and of Python's exception with that name if there is one.

    So `except ValueError` catches a refusal with the name `ValueError`.
    """
    readable = name if name.isidentifier() else "Refused"
    bases: tuple[type, ...] = (Refused,)
    if name in _EXCEPTIONS:
        bases = (Refused, _EXCEPTIONS[name])
    # Some of Python's exceptions print more than their message, or print it as `repr` does.
    namespace = {"__module__": "runtime", "__str__": Exception.__str__}
    return type(readable, bases, namespace)


def python_exception(name: str, message: str) -> Exception:
    """Returns Python's own exception of this name, as a C library would raise it."""
    return _EXCEPTIONS.get(name, OSError)(message)
