"""Programs cut into cells: a park between any two of them changes nothing.

Two servers take the same cells: one parks the interpreter after each cell, so that the next one is resumed
from the disk, the other keeps it. What their cells show has to be equal. A program whose cells differ is
executed again in kept sessions; if these differ from each other as well, it varies by itself, as one does
that shows the time. Which of the two happened between two cells is asked of the servers.

Corpora: `native` are over 1,200 programs with the answers of native CPython, `fixtures` those of
tests/fixtures/programs, `reproducible` those of reproducible runs. --notebooks takes notebooks of others: a
file, a folder, or an archive such as the sources of a package. Generated programs mix kinds of state by a
seed, and what they print is also compared with the Python that runs this. With --reproducible all sessions
are reproducible ones, whose fuel has to be equal as well, and nothing may vary.
"""

import collections
import itertools
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import served

from proof import corpora, cut, generated
from proof.compare import first_difference
from proof.notebook import Session, shown

REPEATS = 12
"""How often a program whose cells differ is executed in another kept session. One that shows milliseconds
often shows the same again."""

SHORT = {"generated": 8, "every": 100, "cells": 4}
SHOWN = 20
"""Findings that the summary has."""


def add_options(parser):
    """The options of this proof."""
    parser.add_argument("--corpora", nargs="*", choices=sorted(corpora.CORPORA), metavar="NAME",
        default=sorted(corpora.CORPORA), help="corpora, none or some [default: all]")  # fmt: skip
    parser.add_argument("--only", nargs="+", metavar="NAME", default=(),
        help="programs of the corpora whose names begin so")  # fmt: skip
    parser.add_argument("--every", type=int, default=1, metavar="N",
        help="one of N programs of the corpora, another in each round of N seeds [default: 1]")  # fmt: skip
    parser.add_argument("--notebooks", nargs="+", metavar="PLACE", default=(),
        help="notebooks: files, folders or archives")  # fmt: skip
    parser.add_argument("--generated", type=int, default=1_000, metavar="COUNT",
        help="generated programs [default: 1000]")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0,
        help="seed of the first generated program, and of where cells are cut [default: 0]")  # fmt: skip
    parser.add_argument("--cells", type=int, default=0, metavar="COUNT",
        help="cut programs into so many cells at most [default: as many as there are statements]")  # fmt: skip
    parser.add_argument("--reproducible", action="store_true",
        help="in reproducible sessions, of servers that have them")  # fmt: skip
    parser.add_argument("--clients", type=int, default=1,
        help="programs at the same time, and workers of each server [default: 1]")  # fmt: skip
    parser.add_argument("--minutes", type=float, help="begin no further program after this time")


def prove(program, options):
    """Executes all programs; returns the summary."""
    if options.short:
        for name, value in SHORT.items():
            setattr(options, name, value)
    with serving(program, options, warm=0) as parks, serving(program, options, warm=64) as keeps:
        proof = Proof(parks, keeps, options)
        until = time.monotonic() + 60 * options.minutes if options.minutes else None
        with ThreadPoolExecutor(options.clients) as pool:
            for one in pool.map(lambda one: proof.check(*one, until), programs(options)):
                proof.tell(one)
        return proof.summary()


def serving(program, options, warm):
    """A server that keeps so many interpreters between cells."""
    settings = {
        "sessions.warm": warm, "sessions.warm_memory": "8 GiB", "sessions.max": 10_000,
        "sessions.quota": "64 GiB", "limits.max.timeout": "10 min", "images.on_need": "false",
    }  # fmt: skip
    chosen = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    workers = ("--workers", str(options.clients), "--log-level=warn")
    return served.Server(program, *workers, *chosen)


def programs(options):
    """All programs, and whether the Python that runs this can execute each of them."""
    chosen = itertools.chain.from_iterable(corpora.CORPORA[name]() for name in options.corpora)
    only = tuple(options.only)
    number = options.seed % options.every
    for at, one in enumerate(one for one in chosen if not only or one.name.startswith(only)):
        if at % options.every == number:
            yield one, False
    for place in options.notebooks:
        for one in corpora.notebooks(place):
            yield one, False
    for seed in range(options.seed, options.seed + options.generated):
        yield generated.program(seed)


class Proof:
    """The programs so far, and what was found."""

    def __init__(self, parks, keeps, options):
        self.parks, self.keeps, self.options = parks, keeps, options
        self.counts = collections.Counter()
        self.borders = collections.Counter()
        self.different, self.vary, self.not_native, self.broken = [], [], [], []
        self.lock = threading.Lock()
        self.told = 0

    def check(self, one, is_native, until):
        """Executes one program on both servers, and compares."""
        if until is not None and time.monotonic() > until:
            self.count("left out")
            return one.name
        chance = random.Random(f"{self.options.seed} {one.name}")
        cells = cut.grouped(one.parts, self.options.cells, chance)
        try:
            parked = self.execute(self.parks, one, cells, "parked")
            kept = self.execute(self.keeps, one, cells, "kept")
            self.compare(one, cells, parked, kept)
            self.compare_natively(one, cells, parked, is_native)
        except Exception as fault:  # every failure is a finding
            self.find(self.broken, f"{one.name}: {fault!r}"[:500])
        self.count("programs")
        return one.name

    def execute(self, server, one, cells, kind):
        """The results of all cells, or of those up to the first that failed."""
        results = []
        more = {"reproducible": {"seed": self.options.seed}} if self.options.reproducible else {}
        with Session(server, **one.params, **more) as session:
            for number, code in enumerate(cells, start=1):
                results.append(session.cell(code, timeout_ms=one.timeout_ms))
                is_over = results[-1]["status"] != "completed" and not one.goes_on
                if number == len(cells) or is_over:
                    break
                warm = "went on in the kept interpreter" if session.is_warm() else "was parked"
                with self.lock:
                    self.borders[f"{kind}: {warm}"] += 1
        self.count("cells", len(results))
        return results

    def compare(self, one, cells, parked, kept):
        """Notes where the sessions differ, unless kept ones differ in the same cell."""
        place = difference(parked, kept)
        if place is None:
            return
        number, what = place
        for _ in range(0 if self.options.reproducible else REPEATS):
            again = self.execute(self.keeps, one, cells, "kept")
            other = difference(again, kept)
            if other is not None and other[0] <= number:
                self.find(self.vary, f"{one.name}, cell {number}: {what}")
                return
        self.find(self.different, f"{one.name}, cell {number}: {what}")

    def compare_natively(self, one, cells, results, is_native):
        """Notes where a program does not answer as native Python does."""
        if one.expected is not None:
            self.count("with known answers")
            what = one.expected.difference(results)
            if what is not None:
                self.find(self.not_native, f"{one.name}: {what}"[:500])
        if is_native:
            self.count("executed natively")
            for number, (here, there) in enumerate(zip(results, generated.natively(cells)), start=1):
                if here["logs_preview"] != there:
                    what = f"natively {there[:200]!r}, parked {here['logs_preview'][:200]!r}"
                    self.find(self.not_native, f"{one.name}, cell {number}: {what}")
                    return

    def count(self, what, more=1):
        """Counts something."""
        with self.lock:
            self.counts[what] += more

    def find(self, where, line):
        """Notes a finding."""
        with self.lock:
            where.append(line)
        if not self.options.json:
            print(f"  {line}", flush=True)

    def tell(self, name):
        """Says now and then how far the programs have come."""
        self.told += 1
        if self.told % 50 == 0 and not self.options.json:
            found = len(self.different) + len(self.broken)
            print(f"{self.told} programs, {found} findings, at {name}", file=sys.stderr, flush=True)

    def summary(self):
        """What was proved. A session that was not parked between two cells proves nothing."""
        unparked = self.borders["parked: went on in the kept interpreter"]
        findings = self.different, self.broken
        parked = self.borders["parked: was parked"]
        return {
            **self.counts,
            "between_cells": dict(self.borders),
            "different": len(self.different),
            "broken": len(self.broken),
            "vary_by_themselves": len(self.vary),
            "not_as_natively": len(self.not_native),
            "first_different": self.different[:SHOWN],
            "first_broken": self.broken[:SHOWN],
            "first_that_vary": self.vary[:SHOWN],
            "first_not_as_natively": self.not_native[:SHOWN],
            "passed": not any(findings) and not unparked and parked > 0,
        }


def difference(one, other):
    """The number of the first cell that differs, and how; `None` if there is none."""
    for number, (here, there) in enumerate(zip(one, other), start=1):
        what = first_difference(shown(there), shown(here))
        if what is not None:
            return number, what
    if len(one) != len(other):
        return min(len(one), len(other)) + 1, "one of them has more cells"
    return None
