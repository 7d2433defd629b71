"""Shared parts of the tool loops."""

from __future__ import annotations

import json
from typing import Any

from wardian._calls import as_unicode
from wardian.errors import WardianError


class TooManyTurns(WardianError):
    """The model did not stop calling tools."""

    def __init__(self, turns: int) -> None:
        super().__init__(f"the model called tools in {turns} turns without answering")
        self.turns = turns


def sendable(value: Any) -> Any:
    """A part of a model's message that can be sent back. Its text is valid Unicode. An empty object
    replaces a value that a request cannot contain, or that is nested too deeply."""
    try:
        return json.loads(as_unicode(json.dumps(value, allow_nan=False, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return {}
