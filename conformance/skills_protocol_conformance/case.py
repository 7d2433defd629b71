"""A case: one sentence of a specification, and a function that checks it."""

from dataclasses import dataclass
from typing import Callable, List, Optional, Tuple

MUST = "must"
SHOULD = "should"
EXTENSION = "extensions"
LEVELS = (MUST, SHOULD, EXTENSION)


class Unmet(Exception):
    """The server does not do what the case expects."""


@dataclass(frozen=True)
class Source:
    """The sentence that a case checks."""

    document: str
    section: str
    sentence: str
    is_quoted: bool = True

    def __str__(self) -> str:
        sentence = f"\u201c{self.sentence}\u201d" if self.is_quoted else self.sentence
        return f"{self.document}, {self.section}: {sentence}"


class Document:
    """A document to take sentences from: `DOCUMENT(section, sentence)`."""

    def __init__(self, title: str, is_quoted: bool = True) -> None:
        self.title = title
        self.is_quoted = is_quoted

    def __call__(self, section: str, sentence: str) -> Source:
        return Source(self.title, section, sentence, self.is_quoted)


JSON_RPC = Document("JSON-RPC 2.0 Specification")
DISCOVERY = Document("Discovery Methods")
TOOLS = Document("LLM Tool Interface")
SCHEMAS = Document("Tool Schemas")
MANIFEST = Document("Skill Manifest")
STRUCTURE = Document("Skill Structure")
# Further pages of the protocol, told in the words of this suite.
CONVENTIONS = Document("JSON-RPC Conventions", is_quoted=False)
CLIENT = Document("The published Python client", is_quoted=False)
EXECUTION = Document("Execution Methods", is_quoted=False)
SANDBOX = Document("Sandbox Execution Model", is_quoted=False)
BLOBS = Document("Blob Methods", is_quoted=False)
CORE = Document("Core Concepts", is_quoted=False)
# The extensions, documented by the server that has them.
WARDIAN = Document("Wardian, docs/protocol.md", is_quoted=False)
WARDIAN_SESSIONS = Document("Wardian, docs/sessions.md", is_quoted=False)
WARDIAN_TOOLS = Document("Wardian, docs/tools.md", is_quoted=False)


@dataclass(frozen=True)
class Case:
    """A check, with its place in the specification."""

    id: str
    level: str
    source: Source
    description: str
    check: Callable
    skills: Tuple[str, ...]
    # The extension without which a server skips the case; None for extensions that are looked at alone.
    extension: Optional[str] = None
    # True if the case also calls the server as another tenant.
    needs_other_tenant: bool = False

    @property
    def area(self) -> str:
        """The first part of the id."""
        return self.id.split(".", 1)[0]


CASES: List[Case] = []


def case(
    id: str,
    level: str,
    source: Source,
    skills: Tuple[str, ...] = (),
    extension: Optional[str] = None,
    needs_other_tenant: bool = False,
) -> Callable:
    """Makes a function a case; the first line of its docstring is the description."""
    if level not in LEVELS:
        raise ValueError(f"{id}: the level {level!r} does not exist")
    if any(known.id == id for known in CASES):
        raise ValueError(f"{id}: the id appears twice")

    def add(check: Callable) -> Callable:
        description = (check.__doc__ or "").strip().split("\n\n")[0].replace("\n    ", " ")
        if not description:
            raise ValueError(f"{id}: the case has no description")
        CASES.append(
            Case(id, level, source, description, check, tuple(skills), extension, needs_other_tenant)
        )
        return check

    return add


def expect(condition: object, expectation: str) -> None:
    """Fails the case with `expectation`, unless the condition is true."""
    if not condition:
        raise Unmet(expectation)


def expect_equal(actual: object, wanted: object, what: str) -> None:
    """Fails the case unless both values are equal and of the same JSON type."""
    if not same_json(actual, wanted):
        raise Unmet(f"{what} is {shown(wanted)}, got {shown(actual)}")


def same_json(one: object, other: object) -> bool:
    """Compares JSON values: `true` is not 1, but 1.0 is 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return one == other


def shown(value: object, limit: int = 300) -> str:
    """A value as a short text."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
