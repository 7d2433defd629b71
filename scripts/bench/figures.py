"""From single times to what is said of them: medians, percentiles, ratios, tables."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence


def percentile(times: Sequence[float], share: float) -> float:
    """The time that `share` of the times do not exceed."""
    ordered = sorted(times)
    at = math.ceil(share * len(ordered)) - 1
    return ordered[max(0, min(at, len(ordered) - 1))]


def median(times: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(times)


def short(number: float) -> str:
    """Three significant digits, or whole numbers."""
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2f}"


def times(ratio: float) -> str:
    """A ratio as text."""
    return f"{short(ratio)}x"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown whose columns are aligned, so that it reads well in a terminal too."""
    everything = [list(header), *[list(row) for row in rows]]
    widths = [max(len(row[column]) for row in everything) for column in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rule = [
        "-" * width if column == 0 else "-" * (width - 1) + ":"
        for column, width in enumerate(widths)
    ]
    return "\n".join([line(header), line(rule), *[line(row) for row in everything[1:]]])


def facts(described: Mapping[str, str]) -> str:
    """The surroundings as a list."""
    return "\n".join(f"- {key}: {value}" for key, value in described.items())


def between_markers(text: str, name: str, content: str) -> str:
    """`text` with `content` between the two comments that carry `name`."""
    begin, end = f"<!-- measured: {name} -->", f"<!-- end: {name} -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"the page has no place for `{name}`")
    return f"{before}{begin}\n{content.strip()}\n{end}{after}"
