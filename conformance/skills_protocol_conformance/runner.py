"""Runs cases against a server."""

import time
from dataclasses import dataclass, field
from typing import Callable, Iterable, List, Optional

from . import cases as _cases  # noqa: F401  (fills the list of cases)
from .case import CASES, LEVELS, Case, Unmet
from .session import Exchange, Session
from .skills_folder import OLDER_VERSION
from .transport import Unreachable

PASSED = "passed"
FAILED = "failed"
SKIPPED = "skipped"


@dataclass
class Outcome:
    """How a case ended."""

    case: Case
    status: str
    message: str = ""
    seconds: float = 0.0
    exchanges: List[Exchange] = field(default_factory=list)


def chosen(level: str, filters: Iterable[str] = ()) -> List[Case]:
    """The cases up to a level whose ids contain one of the filters."""
    levels = LEVELS[: LEVELS.index(level) + 1]
    wanted = list(filters)
    return [
        case
        for case in CASES
        if case.level in levels and (not wanted or any(text in case.id for text in wanted))
    ]


def missing_skills(session: Session, cases: Iterable[Case]) -> List[str]:
    """The skills that cases need and the server does not have."""
    needed = sorted({skill for case in cases for skill in case.skills})
    return [skill for skill in needed if not _is_there(session, skill)]


def _is_there(session: Session, skill: str) -> bool:
    name, _, version = skill.partition("@")
    params = {"name": name, "version": version} if version else {"name": name}
    try:
        return isinstance(session.respond("describe_skill", params).get("result"), dict)
    except Unmet:
        return False


def run(
    transport: object,
    cases: List[Case],
    missing: Iterable[str] = (),
    notify: Optional[Callable[[Outcome], None]] = None,
    missing_extensions: Iterable[str] = (),
) -> List[Outcome]:
    """Runs the cases one after another. Those without their skills or their extension are skipped."""
    lacking, extensions = set(missing), set(missing_extensions)
    outcomes = []
    for case in cases:
        absent = sorted(lacking.intersection(case.skills))
        if case.extension in extensions:
            absent = [f"the extension `{case.extension}`"]
        outcome = _skipped(case, absent) if absent else _run_one(transport, case)
        outcomes.append(outcome)
        if notify:
            notify(outcome)
    return outcomes


def _skipped(case: Case, absent: List[str]) -> Outcome:
    return Outcome(case, SKIPPED, f"the server does not have {', '.join(absent)}")


def _run_one(transport: object, case: Case) -> Outcome:
    session = Session(transport)
    begin = time.monotonic()
    try:
        case.check(session)
        status, message = PASSED, ""
    except Unmet as unmet:
        status, message = FAILED, str(unmet)
    except Unreachable as unreachable:
        status, message = FAILED, f"there is an answer; {unreachable}"
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        # An answer of another shape than the case could think of.
        status, message = FAILED, f"the answer has its form; {type(error).__name__}: {error}"
    return Outcome(case, status, message, time.monotonic() - begin, session.exchanges)


def is_optional(skill: str) -> bool:
    """Says whether a server may lack a skill of the suite."""
    return skill == OLDER_VERSION
