"""The bars that sessions were designed for, beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

BARS: Sequence[tuple[str, str, float, str]] = (
    ("a cell in a kept session, more than an empty run",
     "kept.cell_of_a_kept_session.p50_more_ms", 0.6, "ms"),
    ("a cell in a random kept session, more than an empty run",
     "kept.cell_of_a_random_one.p50_more_ms", 0.6, "ms"),
    ("resume of a random small session, by the server", "small.resume_by_the_server_ms", 1.5, "ms"),
    ("resume of an array of 64 MiB, by the server", "array.resume_by_the_server_ms", 3.0, "ms"),
    ("a fork, each of 16", "forks.forked_ms_each", 0.2, "ms"),
    ("a soft interrupt, p99", "interrupts.p99_ms", 100.0, "ms"),
    ("1,000 parked small sessions", "small.mb_for_1000", 200.0, "MB"),
    ("1,000 parked sessions of the mix", "mix.mb_for_1000", 2_000.0, "MB"),
    ("300 kept small sessions", "kept.mb_for_300", 2_000.0, "MB"),
)  # fmt: skip
"""What is held to a bar, where its figure is, the bar, and the unit of both."""

UNBARRED: Sequence[tuple[str, str]] = (
    ("a cell in a random parked small session, p50", "small.resume_of_a_random_one.cell.p50_ms"),
    ("the same, p99", "small.resume_of_a_random_one.cell.p99_ms"),
    ("a cell in a random parked session of the mix, p50", "mix.resume_of_a_random_one.cell.p50_ms"),
    ("the same, p99", "mix.resume_of_a_random_one.cell.p99_ms"),
    ("a cell in a random kept session, p50", "kept.cell_of_a_random_one.cell.p50_ms"),
    ("the same, p99", "kept.cell_of_a_random_one.cell.p99_ms"),
    ("16 forks, until all have answered", "forks.all_answered_ms"),
    ("sessions made at once, until all have answered", "forks.made_at_once.all_ms"),
)
"""Times for which there is no bar."""

HEADER = ("", "bar", "measured", "")


def rows(found: dict[str, Any]) -> list[list[str]]:
    """One row for each figure that was measured: its bar, the figure, and whether it is met."""
    made = []
    for what, path, bar, unit in BARS:
        figure = figure_at(found, path)
        if figure is not None:
            met = "met" if figure <= bar else f"missed, {figure / bar:.1f} times"
            made.append([what, f"{bar:g} {unit}", f"{figure:,.2f} {unit}", met])
    for what, path in UNBARRED:
        figure = figure_at(found, path)
        if figure is not None:
            made.append([what, "", f"{figure:,.2f} ms", ""])
    return made


def figure_at(found: dict[str, Any], path: str) -> float | None:
    """The figure at a path, if its part was measured."""
    value: Any = found
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
