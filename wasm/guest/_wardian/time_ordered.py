"""Identifiers in the order of time for LangChain, in the place of the packages `uuid_utils` and `xxhash`.

The native package keeps a generator of random numbers in its memory, where nothing could give a new state to it: two
sessions that were forked would go on with the same identifiers. Here all randomness is that of the system.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Mapping
from typing import Any

_NANOSECONDS_OF_MS = 1_000_000


def uuid7(timestamp: int | None = None, nanos: int | None = None) -> uuid.UUID:
    """An identifier of version 7 (RFC 9562): of now, or of a time in seconds and nanoseconds since 1970."""
    if timestamp is None:
        return uuid.uuid7()
    time = timestamp * 1000 + (nanos or 0) // _NANOSECONDS_OF_MS
    if not 0 <= time < 1 << 48:
        raise OverflowError("the time is before 1970, or too far in the future")
    version, variant = 7 << 76, 2 << 62
    drawn = secrets.randbits(74)
    return uuid.UUID(int=time << 80 | version | drawn >> 62 << 64 | variant | drawn & (1 << 62) - 1)


def _fill(namespace: dict[str, Any]) -> None:
    namespace["uuid7"] = uuid7


def _no_digest(*_: Any, **__: Any) -> Any:
    raise NotImplementedError(
        "identifiers of LangSmith's replicas and samples need xxhash, whose native code is not in the engine: turn "
        "off tracing, or send every trace"
    )


def _fill_xxhash(namespace: dict[str, Any]) -> None:
    namespace["xxh3_128"] = _no_digest


OF_LANGCHAIN: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "uuid_utils.compat": _fill,
    "xxhash": _fill_xxhash,
}
"""What LangChain's modules find while they are loaded."""
