"""What this run is: `run.id` is its identifier, `run.args` the arguments it was started with."""

from __future__ import annotations

from typing import Any

from _wardian import door

id: str
args: dict[str, Any]

__all__ = ["args", "id"]

_FIELDS = {"id": "run_id", "args": "args"}


def __getattr__(name: str) -> Any:
    """Reads the job when asked, so that a run that does not ask pays nothing."""
    field = _FIELDS.get(name)
    if field is None or field not in door.job:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return door.job[field]


def __dir__() -> list[str]:
    """The public names alone: what is not among them is no help to callers."""
    return sorted(__all__)
