"""Explains errors about sizes that a 32-bit address space cannot hold.

The messages of the libraries ("Maximum allowed dimension exceeded") name neither the cause nor a
remedy, since programs do not reach these limits on 64-bit machines.
"""

from __future__ import annotations

_TOO_LARGE = (
    "Maximum allowed dimension exceeded",
    "Maximum allowed size exceeded",
    "array is too big",
    "array is too large",
    "broadcast dimensions too large",
    "iterator is too large",
    "index-sized integer",
    "C ssize_t",
    "Unable to allocate",
    "too many items",
    "repeated bytes are too long",
    "repeated string is too long",
)
"""Parts of messages about sizes that do not fit into 32-bit addresses."""

_EXPLANATION = (
    "this interpreter has 32-bit addresses: one object has at most 2 GiB, and a run may use as "
    "much memory as its limit `memory_bytes` allows; work in parts or with a smaller dtype"
)


def explained(kind: type[BaseException], message: str) -> str:
    """Returns `message`, with an explanation if it is about a size."""
    if not issubclass(kind, (MemoryError, OverflowError, ValueError)):
        return message
    if message.endswith("C long"):
        return f"{message} (a C `long` has 32 bits here: use array.array('q') or int64)"
    if any(part in message for part in _TOO_LARGE):
        return f"{message} ({_EXPLANATION})"
    return message
