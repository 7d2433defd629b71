"""Conditions of calls in sessions, and calls that are refused."""

import re
import threading
import time

from ...case import expect, expect_equal, shown
from ...session import Session
from .live import CLOSED, UNKNOWN_ID, Interpreter, refusal, session_case, state_of, value_of

CELLS = "Cells"
REPRODUCIBLE = "Reproducible sessions"
LIMITS = "Limits of sessions"


def expect_parameter(error, name):
    """The error is about this parameter."""
    found = error["data"].get("parameter")
    expect_equal(found, name, f"`data.parameter` of a call with `{name}`")


@session_case("closed", CELLS, "`keep` `false` closes the session after the call.")
def closed(session):
    """With `keep` false the session ends with the cell, also if it is the first one."""
    with Interpreter(session, "x = 1") as live:
        run = live.cell("x + 1", {"keep": False})
        expect_equal(run.get("output"), {"result": 2}, "`output`")
        expect_equal(state_of(run, CLOSED).get("checkpoint", 0), None, "`session.checkpoint`")
        expect_equal(refusal(session, live.id)[0], "session_not_found", "`data.kind` of the next call")
    run = session.run("1", session={"id": "new", "keep": False})
    ended = state_of(run, CLOSED).get("id")
    expect_equal(refusal(session, ended)[0], "session_not_found", "`data.kind` of the next call")


@session_case("conflict", CELLS, "`if_checkpoint` refuses the call unless the session is at this checkpoint.")
def conflict(session):
    """A call is refused where its checkpoint is not that of the session, and does nothing."""
    with Interpreter(session, "x = 1") as live:
        first = state_of(live.first).get("checkpoint")
        run = live.cell("x = 2", {"if_checkpoint": first})
        second = state_of(run).get("checkpoint")
        expect(second != first, f"each cell has another checkpoint, got {shown(second)}")
        kind, error = refusal(session, {"id": live.id, "if_checkpoint": first}, code="x = 3")
        expect_equal(kind, "session_conflict", "`data.kind`")
        expect(second in error.get("message", ""), f"the message has {second}, got {shown(error)}")
        run = live.cell("x", {"if_checkpoint": second})
        expect_equal(value_of(run), 2, "the value")


@session_case("not-found", "Requests", "Errors are those of the protocol: `session_not_found`.")
def not_found(session):
    """A call in a session that does not exist is refused, and so is a text that is no id."""
    for id in (UNKNOWN_ID, "ses_x", "newest"):
        expect_equal(refusal(session, id)[0], "session_not_found", f"`data.kind` for {id!r}")


@session_case("busy", CELLS, "Without `wait_ms`, a call is refused while another runs in the session.")
def busy(session):
    """A call in a session that is running a cell is refused."""
    with Interpreter(session, "import time\ny = 0") as live:
        slow = Slow(live, "time.sleep(2)\ny = 1")
        is_refused = slow.is_refused_meanwhile()
        slow.join()
        expect(is_refused, "a call while the cell was running has `data.kind` 'session_busy'")
        expect_equal(live.value("y"), 1, "what the cell left")


@session_case("wait", CELLS, "`wait_ms`: wait up to this time for a call that runs in the session.")
def wait(session):
    """A call with `wait_ms` runs when the cell before it has ended."""
    with Interpreter(session, "import time\ny = 0") as live:
        slow = Slow(live, "time.sleep(2)\ny = 1")
        slow.is_refused_meanwhile()
        run = live.cell("y", {"wait_ms": 60_000})
        slow.join()
        expect_equal(value_of(run), 1, "the value of the call that waited")


class Slow:
    """A cell that runs on another thread."""

    def __init__(self, live, code):
        self._live, self._found = live, []
        # It waits, because a call that asks whether it runs may come before it.
        own = Interpreter.of(Session(live.session.transport), live.id)
        waiting = {"wait_ms": 60_000}
        self._thread = threading.Thread(target=lambda: self._found.append(own.cell(code, waiting)))
        self._thread.start()

    def is_refused_meanwhile(self):
        """True as soon as a call is refused because the cell is running; false if none is."""
        while self._thread.is_alive():
            response = self._live.session.respond(
                "run_code", {"language": "python", "code": "0", "session": self._live.id}
            )
            if ((response.get("error") or {}).get("data") or {}).get("kind") == "session_busy":
                return True
            time.sleep(0.05)
        return False

    def join(self):
        """Waits for the end of the cell, which must be kept."""
        self._thread.join()
        expect(self._found, "the cell that was running is answered")
        state_of(self._found[0])


@session_case("order-strict", CELLS, "`session` is a text, or an object with the members of the table.")
def order_strict(session):
    """An unknown member of `session`, or one of a wrong type, is refused."""
    with Interpreter(session) as live:
        for more in ({"keeps": False}, {"keep": "no"}, {"wait_ms": "soon"}, {"if_checkpoint": 1}):
            kind, _ = refusal(session, {"id": live.id, **more})
            expect_equal(kind, "invalid_params", f"`data.kind` for {more}")
        expect_equal(refusal(session, 5)[0], "invalid_params", "`data.kind` for a number")


@session_case(
    "exclusive",
    LIMITS,
    "`detach`, `args`, `entrypoint` and `idempotency_key` exclude `session`.",
)
def exclusive(session):
    """What a cell cannot have is refused by its name, in the first call and in later ones."""
    asked = {
        "detach": True,
        "entrypoint": "main",
        "args": {},
        "idempotency_key": "conformance-of-sessions",
    }
    with Interpreter(session) as live:
        for order in ("new", live.id):
            for name, value in asked.items():
                kind, error = refusal(session, order, **{name: value})
                expect_equal(kind, "invalid_params", f"`data.kind` of a call with `{name}`")
                expect_parameter(error, name)


@session_case(
    "first-call", CELLS, "The first call sets memory, `mount_skills` and `input_blobs` of all the cells."
)
def first_call(session):
    """What the first call of a session sets lasts, and is refused in later ones."""
    blob = session.call("create_blob", content="x,y", kind="text/csv", name="sales.csv")["blob_id"]
    with Interpreter(session, "open('sales.csv').read()", input_blobs=[blob]) as live:
        expect_equal(value_of(live.first), "x,y", "the text of the blob")
        expect_equal(live.value("open('sales.csv').read()"), "x,y", "the text of the blob in the next cell")
        for name, params in (
            ("input_blobs", {"input_blobs": [blob]}),
            ("mount_skills", {"mount_skills": ["skills.protocol.guide"]}),
            ("reproducible", {"reproducible": True}),
            ("limits.memory_bytes", {"limits": {"memory_bytes": (300 << 20) + 65_536}}),
        ):
            kind, error = refusal(session, live.id, **params)
            expect_equal(kind, "invalid_params", f"`data.kind` of a call with `{name}`")
            expect_parameter(error, name)


@session_case("reproducible", REPRODUCIBLE, "Equal cells give equal results, equal fuel and equal memory.")
def reproducible(session):
    """Sessions with one seed and equal cells have equal values and states; another seed, others."""
    cells = ["import random\nFalse", "x = random.random()\nx", "x = None\nTrue"]

    def course(seed):
        with Interpreter(session, cells[0], reproducible={"seed": seed}) as live:
            runs = [live.first, *(live.cell(code) for code in cells[1:])]
        return [(value_of(run), state_of(run).get("state_digest")) for run in runs]

    first = course(7)
    for value, digest in first:
        is_digest = isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest)
        expect(is_digest, f"`session.state_digest` is a SHA-256 in hexadecimal digits, got {shown(digest)}")
    expect_equal(len({digest for _, digest in first}), len(cells), "the number of different states")
    expect_equal(course(7), first, "the values and states of a session with the same seed")
    expect(course(8)[1][0] != first[1][0], "a session with another seed draws another number")
