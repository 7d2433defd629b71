"""When to send a request again: only if nothing would be executed twice."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

FIRST_PAUSE = 0.2
"""Seconds before the first retry after a failed connection. Each further pause is twice as long."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long requests are repeated.

    A request is repeated if the server refused it with 429 or 503 and `Retry-After`, which means
    that nothing was executed, or if no connection was made. If the connection breaks later, the
    request is repeated only if it reads, or has an idempotency key.
    """

    attempts: int = 4
    """Maximum number of times that a request is sent."""
    longest_wait: float = 60.0
    """Maximum total of all pauses of a request, in seconds."""


@dataclass
class Patience:
    """The remaining attempts and time for one request."""

    policy: RetryPolicy
    sent: int = 1
    waited: float = field(default=0.0)

    def pause(self, least: float | None = None) -> float | None:
        """Seconds to wait before the request is sent again; `None` if it is not sent again."""
        if self.sent >= self.policy.attempts:
            return None
        usual = FIRST_PAUSE * 2 ** (self.sent - 1)
        # Jitter: clients that were refused together must not return together.
        pause = (usual if least is None else max(0.0, least)) * (1 + random.random() / 4)
        if self.waited + pause > self.policy.longest_wait:
            return None
        self.sent += 1
        self.waited += pause
        return pause


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds of `Retry-After`."""
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        # Python accepts digits of other scripts, HTTP does not.
        if value.isascii() and value.strip().isdigit():
            return float(value)
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
