"""Questions to the user about what a program wants to do."""

from __future__ import annotations

import json

from wardian.results import CallerRequest

LONGEST_ARGUMENTS = 2_000
"""Most characters of the arguments of a call that a question shows."""


def allowing(request: CallerRequest) -> str:
    """The question whether a call may be made. It has nothing that changes how a terminal shows it."""
    arguments = json.dumps(request.arguments or {}, ensure_ascii=False)
    shown = arguments[:LONGEST_ARGUMENTS]
    more = len(arguments) - len(shown)
    cut = f"... and {more} more characters" if more else ""
    return f"Allow {_plain(f'{request.name}({shown}')}{cut})? [y/N] "


def _plain(text: str) -> str:
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )
