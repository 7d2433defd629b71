"""What the tool loops share."""

from __future__ import annotations

from wardian.errors import WardianError


class TooManyTurns(WardianError):
    """A model goes on calling tools."""

    def __init__(self, turns: int) -> None:
        super().__init__(f"the model has called tools in {turns} turns and has not answered")
        self.turns = turns
