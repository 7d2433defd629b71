"""What the cases about sessions have in common."""

import json

from ...capabilities import SESSIONS
from ...case import EXTENSION, WARDIAN_SESSIONS, case, expect, expect_equal, shown
from ...session import Session, completed

KEPT, ROLLED_BACK, CLOSED = "kept", "rolled_back", "closed"
UNKNOWN_ID = "ses_" + "a" * 26


def session_case(name, section, sentence, **more):
    """Makes a function a case about sessions."""
    source = WARDIAN_SESSIONS(section, sentence)
    return case(f"sessions.{name}", EXTENSION, source, extension=SESSIONS, **more)


def state_of(run, wanted=KEPT):
    """`session` of a result, which must have this state."""
    found = run.get("session")
    expect(isinstance(found, dict), f"the result has an object `session`, got {shown(run, 600)}")
    expect_equal(found.get("state"), wanted, "`session.state`")
    return found


def value_of(run):
    """The value of a cell that must be kept. Values other than objects are the member `result`."""
    state_of(run)
    return completed(run).get("result")


def refusal(session, order, **params):
    """The error of a cell that must be refused: its kind, and all of it."""
    params = {"language": "python", "code": "1", **params}
    error = session.error("run_code", session=order, **params)
    data = error.get("data")
    expect(isinstance(data, dict), f"`error.data` is an object, got {shown(data)}")
    return data.get("kind"), error


def asked(session, status, verb, path, body=None):
    """The JSON of the answer to a request below /v1/sessions, which must have this status."""
    reply = send(session, verb, path, body)
    expect_equal(reply.status, status, f"the HTTP status of {verb} /v1/sessions{path}")
    return session.json_of(reply) if reply.body else None


def send(session, verb, path, body=None):
    """The answer to a request below /v1/sessions."""
    data = b"" if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} if data else {}
    return session.send(data, verb, f"/v1/sessions{path}", headers)


class Interpreter:
    """A session of the server. Leaving the block closes it, so that cases do not use up its quota."""

    def __init__(self, session, code="1", **params):
        self.session = session
        self.first = session.run(code, session="new", **params)
        self.id = state_of(self.first).get("id")

    @classmethod
    def of(cls, session, id):
        """The session with this id."""
        found = cls.__new__(cls)
        found.session, found.id = session, id
        return found

    def cell(self, code, order=None, **params):
        """The result of a cell; `order` has the conditions of the call."""
        return self.session.run(code, session={"id": self.id, **(order or {})}, **params)

    def value(self, code):
        """The value of a cell that must be kept."""
        return value_of(self.cell(code))

    def asked(self, status, verb, more="", body=None):
        """The answer to a request about the session."""
        return asked(self.session, status, verb, f"/{self.id}{more}", body)

    def checkpoint(self):
        """The checkpoint that the session is at."""
        return self.asked(200, "GET").get("checkpoint")

    def close(self):
        """Closes the session. It is not among the exchanges of the case, whose last ones are reported."""
        send(Session(self.session.transport), "DELETE", f"/{self.id}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
