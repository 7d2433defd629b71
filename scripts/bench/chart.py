"""Draws latencies as an SVG: one line for each peer, on a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from bench.figures import short

WIDTH, LEFT, RIGHT = 860, 190, 250
LINE, GAP, TOP, BOTTOM = 17, 14, 58, 34

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .title { font-size: 15px; font-weight: 600; }
  .row { font-weight: 600; text-anchor: end; }
  .tick { fill: #57606a; text-anchor: middle; }
  .grid { stroke: #d0d7de; stroke-width: 1; }
  .peer { stroke: #8c959f; fill: #8c959f; }
  .own { stroke: #1a7f37; fill: #1a7f37; }
  text.peer, text.own { stroke: none; }
  text.peer { fill: #57606a; }
  text.own { font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .tick, text.peer { fill: #9198a1; }
    .grid { stroke: #3d444d; }
    .peer { stroke: #656c76; fill: #656c76; }
    .own { stroke: #3fb950; fill: #3fb950; }
  }
"""


def draw(title: str, rows: Sequence[tuple[str, Mapping[str, float], frozenset[str]]]) -> str:
    """A chart of `rows`: what was done, milliseconds by peer, and whose lines stand out."""
    values = [value for _, peers, _ in rows for value in peers.values()]
    low = math.floor(math.log10(min(values)))
    high = math.ceil(math.log10(max(values)))
    span = WIDTH - LEFT - RIGHT

    def across(value: float) -> float:
        return round(LEFT + span * (math.log10(value) - low) / max(1, high - low), 1)

    parts = []
    down = TOP
    for row, peers, own in rows:
        parts.append(f'<text class="row" x="{LEFT - 14}" y="{down + 12}">{escape(row)}</text>')
        for peer, value in sorted(peers.items(), key=lambda item: item[1]):
            kind = "own" if peer in own else "peer"
            middle, end = down + 8, across(value)
            parts.append(
                f'<path class="{kind}" d="M{LEFT} {middle}H{end}" stroke-width="2"/>'
                f'<circle class="{kind}" cx="{end}" cy="{middle}" r="4"/>'
                f'<text class="{kind}" x="{end + 9}" y="{middle + 4}">'
                f"{escape(peer)} · {short(value)} ms</text>"
            )
            down += LINE
        down += GAP
    bottom = down - GAP + 4
    grid = []
    for power in range(low, high + 1):
        at = across(10.0**power)
        grid.append(f'<path class="grid" d="M{at} {TOP - 8}V{bottom}"/>')
        label = f"{10.0**power:g} ms" if power < 3 else f"{10 ** (power - 3):g} s"
        for level in (TOP - 14, bottom + 16):
            grid.append(f'<text class="tick" x="{at}" y="{level}">{label}</text>')
    height = bottom + BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<text class="title" x="14" y="22">{escape(title)}</text>',
        *grid,
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
