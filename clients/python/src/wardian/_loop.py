"""What the tool loops share."""

from __future__ import annotations

import json
from typing import Any

from wardian._calls import as_unicode
from wardian.errors import WardianError


class TooManyTurns(WardianError):
    """A model goes on calling tools."""

    def __init__(self, turns: int) -> None:
        super().__init__(f"the model has called tools in {turns} turns and has not answered")
        self.turns = turns


def sendable(value: Any) -> Any:
    """A part of a model's message as it can be sent back: with Unicode for texts, and an empty
    object for what has a value or a depth that no request can have."""
    try:
        return json.loads(as_unicode(json.dumps(value, allow_nan=False, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return {}
