"""The options of shells, as in `bash -e x.sh`, `#!/bin/sh -eu`, `set -euo pipefail` and `set -- a b`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_LETTERS = {"e": "errexit", "u": "nounset"}
_OFF = frozenset("abCfhmnvx")
"""Letters that may be switched off, since they never are on."""
_OFF_NAMES = frozenset({"xtrace", "verbose", "noglob", "noclobber", "allexport", "posix", "monitor"})
_WITHOUT_EFFECT = frozenset({"--login", "--norc", "--noprofile"})
"""Long options about files of settings, of which there are none."""


class OptionError(Exception):
    """An option that is not understood."""


class Options(NamedTuple):
    """What options a shell has."""

    names: frozenset[str] = frozenset()
    """Those of `errexit`, `nounset` and `pipefail` that are on."""
    takes_text: bool = False
    """True for `-c`."""


def read(words: Sequence[str], before: Options, is_start: bool) -> tuple[Options, list[str], bool]:
    """Reads the options in front of other words: with them, what follows, and whether `--` stands between.

    Raises:
        OptionError: One of them is not understood.
    """
    names, takes_text = set(before.names), before.takes_text
    rest = list(words)
    while rest and rest[0][:1] in ("-", "+") and rest[0]:
        word = rest.pop(0)
        if word in ("-", "--"):
            return Options(frozenset(names), takes_text), rest, True
        if is_start and word in _WITHOUT_EFFECT:
            continue
        is_on = word[0] == "-"
        letters = word[1:]
        if not letters or letters.startswith("-"):
            raise OptionError(f"the option {word} is not understood here")
        for letter in letters:
            name = _LETTERS.get(letter)
            if letter == "o" and rest:
                name = rest.pop(0)
                if not is_on and name in _OFF_NAMES:
                    continue
            elif is_start and is_on and letter in "cl":
                takes_text = takes_text or letter == "c"
                continue
            elif not is_on and letter in _OFF:
                continue
            if name not in ("errexit", "nounset", "pipefail"):
                shown = f"{word[0]}{letter} {name}" if letter == "o" and name else f"{word[0]}{letter}"
                raise OptionError(f"the option {shown} is not understood here; there are -e, -u and -o pipefail")
            names.add(name) if is_on else names.discard(name)
    return Options(frozenset(names), takes_text), rest, False
