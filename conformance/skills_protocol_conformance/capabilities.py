"""Extensions that a server has as a whole or not at all: their cases are skipped where it has them not."""

from typing import Callable, Dict, Iterable, List

from .case import Case, Unmet
from .session import Session

SESSIONS = "sessions"
_INVALID_PARAMS = -32602
_OK = 200


def missing_extensions(session: Session, cases: Iterable[Case]) -> List[str]:
    """The extensions that cases need and the server does not have."""
    needed = sorted({case.extension for case in cases if case.extension})
    return [extension for extension in needed if not _PROBES[extension](session)]


def has_sessions(session: Session) -> bool:
    """True unless the server refuses or ignores the parameter `session` and does not list sessions either.

    A server whose sessions are broken has them, so that their cases fail.
    """
    params = {"language": "python", "code": "1", "session": {"id": "new", "keep": False}}
    try:
        response = session.respond("run_code", params)
    except Unmet:
        return True
    result, error = response.get("result"), response.get("error")
    if isinstance(error, dict) and error.get("code") != _INVALID_PARAMS:
        return True
    if isinstance(result, dict) and "session" in result:
        return True
    reply = session.send(b"", "GET", "/v1/sessions")
    try:
        listed = session.json_of(reply)
    except Unmet:
        return False
    return reply.status == _OK and isinstance(listed, dict) and isinstance(listed.get("sessions"), list)


_PROBES: Dict[str, Callable[[Session], bool]] = {SESSIONS: has_sessions}
