"""Reports: a summary as text, Markdown for people, JUnit for CI, JSON for programs."""

import json
import re
from collections import Counter
from typing import Dict, List
from xml.etree import ElementTree

from . import __version__
from .case import CASES, LEVELS, Case
from .cases import AREAS
from .runner import FAILED, PASSED, SKIPPED, Outcome

TITLES = {"must": "MUST", "should": "SHOULD", "extensions": "Extensions"}
# Characters that XML cannot hold.
NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SHOWN_EXCHANGES = 3
SHOWN_CHARACTERS = 1500


def counts(outcomes: List[Outcome]) -> Dict[str, Counter]:
    """How many cases ended how, by level."""
    table: Dict[str, Counter] = {level: Counter() for level in LEVELS}
    for outcome in outcomes:
        table[outcome.case.level][outcome.status] += 1
    return {level: counter for level, counter in table.items() if counter}


def as_lines(outcomes: List[Outcome]) -> List[str]:
    """One line for each level."""
    return [
        f"{TITLES[level]:<10}  {row[PASSED]} passed, {row[FAILED]} failed, {row[SKIPPED]} skipped"
        for level, row in counts(outcomes).items()
    ]


def failure(outcome: Outcome) -> str:
    """A failed case for a terminal."""
    lines = [
        f"{outcome.case.id} ({TITLES[outcome.case.level]}): {outcome.case.description}",
        f"  specification: {outcome.case.source}",
        f"  expected: {outcome.message}",
    ]
    for exchange in outcome.exchanges[-1:]:
        lines += ["  " + line for line in f"request: {clip(exchange.request)}".splitlines()]
        lines += ["  " + line for line in f"answer: {clip(exchange.answer)}".splitlines()]
    return "\n".join(lines)


def printable(text: str) -> str:
    """A text without characters that control a terminal: answers come from anybody."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "\ufffd" for letter in text)


def clip(text: str) -> str:
    """The beginning of a text."""
    if len(text) <= SHOWN_CHARACTERS:
        return text
    return f"{text[:SHOWN_CHARACTERS]}… ({len(text)} characters)"


def as_markdown(outcomes: List[Outcome], url: str) -> str:
    """The whole report for people."""
    lines = ["# Conformance to the Skills Protocol 0.1", "", f"Server: `{url}`. Suite: {__version__}.", ""]
    lines += ["| level | passed | failed | skipped |", "| --- | --- | --- | --- |"]
    for level, row in counts(outcomes).items():
        lines.append(f"| {TITLES[level]} | {row[PASSED]} | {row[FAILED]} | {row[SKIPPED]} |")
    bad = [outcome for outcome in outcomes if outcome.status == FAILED]
    if bad:
        lines += ["", "## Failures"]
    for outcome in bad:
        lines += ["", f"### {outcome.case.id}", ""]
        lines += [f"{TITLES[outcome.case.level]}. {outcome.case.description}", ""]
        lines += [f"- Specification: {outcome.case.source}", f"- Expected: {one_line(outcome.message)}"]
        for exchange in outcome.exchanges[-SHOWN_EXCHANGES:]:
            lines += ["", *fenced(clip(exchange.request)), "", *fenced(clip(exchange.answer))]
    lines += ["", "## Cases"]
    for area, title in AREAS.items():
        found = [outcome for outcome in outcomes if outcome.case.area == area]
        if found:
            lines += ["", f"### {title}", "", "| case | level | outcome | |", "| --- | --- | --- | --- |"]
        for outcome in found:
            text = outcome.message if outcome.status == SKIPPED else outcome.case.description
            row = [outcome.case.id, TITLES[outcome.case.level], outcome.status, cell(text)]
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def fenced(text: str) -> List[str]:
    """A block of code whose fence does not appear in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return [fence, *text.split("\n"), fence]


def one_line(text: str) -> str:
    """A text without ends of lines."""
    return " ".join(text.split())


def cell(text: str) -> str:
    """A text as a cell of a table."""
    return one_line(text).replace("|", "\\|")


def as_junit(outcomes: List[Outcome], url: str) -> str:
    """One test suite for each level."""
    root = ElementTree.Element("testsuites", name="Skills Protocol 0.1")
    for level, row in counts(outcomes).items():
        cases = [outcome for outcome in outcomes if outcome.case.level == level]
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=f"Skills Protocol 0.1, {TITLES[level]}",
            hostname=clean(url),
            tests=str(len(cases)),
            failures=str(row[FAILED]),
            errors="0",
            skipped=str(row[SKIPPED]),
            time=f"{sum(outcome.seconds for outcome in cases):.3f}",
        )
        for outcome in cases:
            test = ElementTree.SubElement(
                suite,
                "testcase",
                classname=f"skills_protocol.{level}.{outcome.case.area}",
                name=outcome.case.id,
                time=f"{outcome.seconds:.3f}",
            )
            if outcome.status == FAILED:
                told = ElementTree.SubElement(test, "failure", message=clean(outcome.message))
                told.text = clean(failure(outcome))
            elif outcome.status == SKIPPED:
                ElementTree.SubElement(test, "skipped", message=clean(outcome.message))
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def clean(text: str) -> str:
    """A text that XML can hold."""
    return NO_XML.sub("\ufffd", text)


def as_json(outcomes: List[Outcome], url: str) -> str:
    """The whole report for programs."""
    table = {
        level: {status: row[status] for status in (PASSED, FAILED, SKIPPED)}
        for level, row in counts(outcomes).items()
    }
    report = {
        "suite": __version__,
        "protocol": "0.1",
        "server": url,
        "levels": table,
        "cases": [
            {
                **case_as_json(outcome.case),
                "status": outcome.status,
                "message": outcome.message,
                "seconds": round(outcome.seconds, 3),
                "exchanges": [
                    {"request": clip(exchange.request), "answer": clip(exchange.answer)}
                    for exchange in (outcome.exchanges if outcome.status == FAILED else [])
                ],
            }
            for outcome in outcomes
        ],
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def case_as_json(case: Case) -> dict:
    """A case without an outcome."""
    return {
        "id": case.id,
        "level": case.level,
        "description": one_line(case.description),
        "document": case.source.document,
        "section": case.source.section,
        "sentence": case.source.sentence,
        "is_quoted": case.source.is_quoted,
        "skills": list(case.skills),
        "extension": case.extension,
    }


def list_as_markdown(cases: List[Case] = CASES) -> str:
    """The table of the cases, for the documentation."""
    lines: List[str] = []
    for area, title in AREAS.items():
        found = [case for case in cases if case.area == area]
        if found:
            lines += [
                "",
                f"### {title}",
                "",
                "| case | level | checks | specification |",
                "| --- | --- | --- | --- |",
            ]
        for case in found:
            row = [f"`{case.id}`", TITLES[case.level], cell(case.description), cell(str(case.source))]
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines).strip() + "\n"
