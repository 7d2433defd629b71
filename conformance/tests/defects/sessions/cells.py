"""Defects of cells and of the conditions of their calls."""

import hashlib
import uuid

from ...refused import Refused, wrong
from ..spoil import after, changed, defect, recovering, simple, without


def celled(name, cases, change):
    """A defect in the results of cells."""
    simple(name, cases, "cell", change)


def stated(name, cases, change):
    """A defect in `session` of the results of cells."""
    celled(name, cases, lambda run, params: changed(run, session=change(dict(run["session"]))))


stated(
    "the first checkpoint has no id",
    [
        "sessions.new",
        "sessions.rolled-back",
        "sessions.conflict",
        "sessions.show",
        "sessions.fork-checkpoint",
        "sessions.restore",
        "sessions.checkpoint-name",
    ],
    lambda state: changed(state, checkpoint="") if state["cell"] == 1 and state["state"] == "kept" else state,
)
stated(
    "cells are counted from zero",
    ["sessions.new", "sessions.variables", "sessions.object", "sessions.exception", "sessions.create"],
    lambda state: changed(state, cell=state["cell"] - 1),
)


@defect("only the last variable stays", "sessions.variables")
def _(server):
    after(
        server,
        "go_on",
        lambda _, session, sources: session.head.sources.__setitem__(
            slice(None), [source for source in sources if source != "add(2)\njson.dumps(x)"]
        ),
    )


@defect("an object begins a session only with an id", "sessions.object")
def _(server):
    def check(order):
        if "id" not in order:
            raise wrong("session.id", "is missing")

    after(server, "check_order", lambda _, order: check(order))


@defect("files of sessions are everywhere", "sessions.apart")
def _(server):
    right, left = server.left_files, {}
    server.left_files = lambda: {**right(), **left}

    def keep(session, params):
        if "mine.txt" in params["code"]:
            left["/workspace/mine.txt"] = b"a"
        return session

    after(server, "session_of", lambda session, _, params: keep(session, params))


@defect("files do not stay", "sessions.files-stay", "sessions.fork")
def _(server):
    after(
        server,
        "go_on",
        lambda _, session, sources: session.head.sources.__setitem__(
            slice(None), [source for source in sources if "'kept'" not in source and "'own'" not in source]
        ),
    )


@defect("the files of earlier cells are results again", "sessions.files-own")
def _(server):
    server.files_before = lambda files, mounted: mounted


celled(
    "a cell without a value has an empty output",
    ["sessions.output"],
    lambda run, params: changed(run, output={}) if run["output"] is None else run,
)


@defect("values of cells are not remembered", "sessions.history")
def _(server):
    after(server, "interpreter", lambda made, *_: made.scope.update(_=None) or made)


@defect("programs are counted from zero", "sessions.history")
def _(server):
    after(server, "interpreter", lambda made, *_: made.scope.update({"In": made.sources[1:]}) or made)


celled(
    "what is displayed comes in another order",
    ["sessions.display"],
    lambda run, params: changed(run, display=run["display"][::-1]) if "display" in run else run,
)
celled(
    "what is displayed has one form",
    ["sessions.display"],
    lambda run, params: (
        changed(run, display=[{"text/plain": bundle["text/plain"]} for bundle in run["display"]])
        if "display" in run
        else run
    ),
)


def traced(name, change):
    """A defect in the tracebacks of cells."""

    def change_run(run, params):
        error = run.get("error")
        found = (error or {}).get("traceback")
        return changed(run, error=changed(error, traceback=change(found))) if found else run

    celled(name, ["sessions.traceback"], change_run)


traced("cells have no numbers in tracebacks", lambda text: text.replace("<cell 2>", "<cell>"))
traced("tracebacks have no lines", lambda text: text.replace("    fall()", ""))
traced("tracebacks end in the cell that was called", lambda text: text.partition('  File "<cell 1>"')[0])


@defect("a cell that raises is rolled back", "sessions.exception")
def _(server):
    server.is_lost = lambda error: True


stated(
    "no reason for a cell that is rolled back",
    ["sessions.rolled-back"],
    lambda state: without(state, "reason"),
)
stated(
    "a cell that is rolled back leads nowhere",
    ["sessions.rolled-back"],
    lambda state: changed(state, checkpoint=None) if state["state"] == "rolled_back" else state,
)
celled(
    "a cell that is lost is said to be kept",
    ["sessions.truth"],
    lambda run, params: (
        changed(run, session=changed(run["session"], state="kept"))
        if run["session"]["state"] == "rolled_back" and "except" not in params["code"]
        else run
    ),
)


@defect("sessions are not closed by calls", "sessions.closed")
def _(server):
    after(server, "check_order", lambda _, order: order.pop("keep", None) and None)


stated(
    "a session that has ended is said to be kept",
    ["sessions.closed"],
    lambda state: changed(state, state="kept") if state["state"] == "closed" else state,
)


@defect("conditions are ignored", "sessions.conflict", "sessions.files-conditions")
def _(server):
    server.check_checkpoint = lambda session, wanted: None


def refusing(name, cases, kind, change):
    """A defect in the refusals of one kind: `change(refused)` is raised instead."""

    def again(found, *_):
        raise change(found) if found.kind == kind else found

    defect(name, *cases)(lambda server: recovering(server, "cell", again))


refusing(
    "a conflict does not say where the session is",
    ["sessions.conflict"],
    "session_conflict",
    lambda found: Refused(1009, found.kind, "the session has moved on"),
)
refusing(
    "a session that does not exist is a wrong parameter",
    ["sessions.not-found", "sessions.closed", "sessions.delete", "sessions.tenants", "sessions.tools-wait"],
    "session_not_found",
    lambda found: wrong("session"),
)
refusing(
    "what a cell cannot have is not named",
    ["sessions.exclusive", "sessions.first-call"],
    "invalid_params",
    lambda found: Refused(found.code, found.kind, found.message),
)


@defect("an unknown id begins a session", "sessions.not-found")
def _(server):
    right = server.find_session
    server.find_session = lambda id: right(id) if len(id) > 6 else server.session_of("new", {})


@defect("calls always wait", "sessions.busy")
def _(server):
    right = server.take_turn
    server.take_turn = lambda session, order: right(session, {**order, "wait_ms": 60_000})


@defect("calls hardly wait", "sessions.wait")
def _(server):
    right = server.take_turn
    server.take_turn = lambda session, order: right(session, {"wait_ms": min(order.get("wait_ms", 0), 50)})


@defect("members of `session` are not checked", "sessions.order-strict")
def _(server):
    server.check_order = lambda order: [
        order.pop(name) for name in list(order) if name == "keeps" or order[name] in ("no", "soon", 1)
    ]


for _name in ("args", "detach", "entrypoint", "idempotency_key"):

    @defect(f"`{_name}` is ignored in cells", "sessions.exclusive")
    def _(server, name=_name):
        after(server, "not_in_cells", lambda names: [one for one in names if one != name])


for _name in ("mount_skills", "input_blobs", "reproducible", "limits"):

    @defect(f"`{_name}` is ignored in later cells", "sessions.first-call")
    def _(server, name=_name):
        right = server.session_of
        server.session_of = lambda id, params: right(id, params if id == "new" else without(params, name))


@defect("reproducible sessions draw what others draw", "sessions.reproducible")
def _(server):
    server.seed_of = lambda reproducible: uuid.uuid4().int if reproducible else None


@defect("all seeds of sessions are one", "sessions.reproducible")
def _(server):
    server.seed_of = lambda reproducible: 7 if reproducible else None


@defect("all states of a reproducible session have one digest", "sessions.reproducible")
def _(server):
    server.state_digest = lambda session: "0" * 64


@defect("the digest of a state is that of its checkpoint", "sessions.reproducible")
def _(server):
    server.state_digest = lambda session: hashlib.sha256(session.head.id.encode()).hexdigest()
