#!/usr/bin/env python3
"""Generates `wardian/_sync` from `wardian/_async`. With --check it only compares."""

from __future__ import annotations

import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent / "src" / "wardian"
NOTE = "# Made from `{source}` by `generate.py`: change that file, not this one.\n"

RULES: list[tuple[str, str]] = [
    (r"\bAsyncGenerator\[([\w.]+(?:\[\w+\])?)\]", r"AsyncGenerator[\1, None, None]"),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\bAbstractAsync", "Abstract"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\brun_(tools|responses)_async\b", r"run_\1"),
    (r"\b_async(?=[._]| import)", "_sync"),
    (r"\b__a(enter|exit|iter)__\b", r"__\1__"),
    (r"\baread\b", "read"),
    (r"\baclose\b", "close"),
    (r"\baiter_bytes\b", "iter_bytes"),
    (r"\bAwaitable\[([\w.]+)\]", r"\1"),
    (r"\bAwaitable, ", ""),
    (r"\basync (?=def|with|for)", ""),
    (r"\bawait ", ""),
    (r"The asynchronous half. `generate.py` makes `wardian._sync` from it.", "The synchronous half."),
]


def made_from(source: Path) -> str:
    """The synchronous version of an asynchronous file."""
    text = source.read_text()
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    return NOTE.format(source=f"_async/{source.name}") + text


def main() -> int:
    """Writes the files, or says which ones differ."""
    target = PACKAGE / "_sync"
    target.mkdir(exist_ok=True)
    wrong: list[str] = []
    for source in sorted((PACKAGE / "_async").glob("*.py")):
        made, place = made_from(source), target / source.name
        if place.exists() and place.read_text() == made:
            continue
        wrong.append(place.name)
        if "--check" not in sys.argv:
            place.write_text(made)
    if wrong and "--check" in sys.argv:
        print(f"{', '.join(wrong)}: run clients/python/generate.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
