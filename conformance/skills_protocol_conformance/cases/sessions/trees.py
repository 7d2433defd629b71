"""Checkpoints: sessions that go back to one, and sessions that begin with one."""

from ...case import expect, expect_equal, shown
from .live import Interpreter, send, session_case, state_of

CHECKPOINTS = "Checkpoints"
UNKNOWN_CHECKPOINT = "c9-0123456789abcdef"


def forks_of(live, body):
    """The forks of a session that must all be made."""
    made = live.asked(201, "POST", "/fork", body)["forks"]
    for fork in made:
        expect("id" in fork, f"each fork is a session, got {shown(fork)}")
    return [Interpreter.of(live.session, fork["id"]) for fork in made]


def close_all(forks):
    """Closes forks, so that they do not use up the quota."""
    for fork in forks:
        fork.close()


@session_case("fork", CHECKPOINTS, "Other sessions can begin with a checkpoint (`fork`).")
def fork(session):
    """Forks begin with the state of the session, and none changes the session or another fork."""
    with Interpreter(session, "x = [1]\nopen('f', 'w').write('own')") as live:
        state_of(live.cell("x.append(2)"))
        forks = forks_of(live, {"count": 3})
        try:
            expect_equal(len({one.id for one in [live, *forks]}), 4, "the number of different ids")
            for number, one in enumerate(forks):
                found = one.value(f"x.append({10 + number})\nopen('f', 'w').write('{number}')\nx")
                expect_equal(found, [1, 2, 10 + number], "the value of a fork")
            for number, one in enumerate(forks):
                found = one.value("[x, open('f').read()]")
                expect_equal(found, [[1, 2, 10 + number], str(number)], "the state of a fork")
            expect_equal(live.value("[x, open('f').read()]"), [[1, 2], "own"], "the state of the session")
        finally:
            close_all(forks)


@session_case("fork-checkpoint", CHECKPOINTS, "`fork` takes a `checkpoint` and a `count` up to 16.")
def fork_checkpoint(session):
    """A fork begins with an earlier checkpoint if one is named; others than it has are refused."""
    with Interpreter(session, "x = 1") as live:
        state_of(live.cell("x = 2"))
        forks = forks_of(live, {"checkpoint": state_of(live.first).get("checkpoint")})
        try:
            expect_equal([one.value("x") for one in forks], [1], "the values of the forks")
        finally:
            close_all(forks)
        live.asked(404, "POST", "/fork", {"checkpoint": UNKNOWN_CHECKPOINT})
        for count in (0, 17):
            live.asked(400, "POST", "/fork", {"count": count})


@session_case("fork-random", CHECKPOINTS, "A state that is continued twice draws other random numbers.")
def fork_random(session):
    """Forks of a session draw different random numbers."""
    with Interpreter(session, "import random\nrandom.seed(1)") as live:
        forks = forks_of(live, {"count": 2})
        try:
            drawn = [one.value("random.random()") for one in [live, *forks]]
            expect_equal(len(set(drawn)), 3, f"the number of different ones among {drawn}")
        finally:
            close_all(forks)


@session_case("restore", CHECKPOINTS, "A session can go back to a checkpoint (`restore`).")
def restore(session):
    """A session that goes back has the variables and files of that checkpoint, and goes on from there."""
    with Interpreter(session, "x = 1") as live:
        first = state_of(live.first).get("checkpoint")
        state_of(live.cell("x = 2\nopen('f', 'w').write('2')"))
        found = live.asked(200, "POST", "/restore", {"checkpoint": first})
        expect_equal(found.get("checkpoint"), first, "`checkpoint`")
        expect_equal(live.value("import os\n[x, os.path.exists('/workspace/f')]"), [1, False], "the state")
        last = live.asked(200, "GET")["checkpoints"][-1]
        expect_equal(last.get("parent"), first, "`parent` of the checkpoint after it")
        reply = send(session, "POST", f"/{live.id}/restore", {"checkpoint": UNKNOWN_CHECKPOINT})
        expect_equal(reply.status, 404, "the HTTP status for an unknown checkpoint")
        kind = (session.json_of(reply).get("error") or {}).get("data", {}).get("kind")
        expect_equal(kind, "checkpoint_not_found", "`data.kind` for an unknown checkpoint")


@session_case("checkpoint-name", "Requests", "`POST …/checkpoints` names one, and `DELETE` removes one.")
def checkpoint_name(session):
    """A checkpoint has the name that it is given; one that the session is not at can be removed."""
    with Interpreter(session, "x = 1") as live:
        first = state_of(live.first).get("checkpoint")
        named = live.asked(200, "POST", "/checkpoints", {"name": "the beginning"})
        expect_equal((named.get("id"), named.get("name")), (first, "the beginning"), "id and name")
        state_of(live.cell("x = 2"))
        found = live.asked(200, "GET")["checkpoints"]
        expect_equal([entry["name"] for entry in found], ["the beginning", None], "the names")
        live.asked(204, "DELETE", f"/checkpoints/{first}")
        live.asked(404, "DELETE", f"/checkpoints/{first}")
        live.asked(409, "DELETE", f"/checkpoints/{live.checkpoint()}")
        expect_equal(live.value("x"), 2, "the value")
